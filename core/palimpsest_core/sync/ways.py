"""How the digest takes the rows of each event type, found once for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import msgspec

from palimpsest_core.formats.packed import TAGS
from palimpsest_core.log import repair
from palimpsest_core.log.fasttext import fast_reader
from palimpsest_core.log.surface import append_codes, surface_types
from palimpsest_core.log.text import Registry
from palimpsest_core.sync.looseplaces import BOUNDARIES

_MOST_TYPES = 1_000
_PROMPTS = frozenset({"user/message", "steering/message"})
_BUILT = frozenset(
    {"session/title", "session/end-seed", "steering/message", "agent/inbox/spliced"}
    | {f"compact/{name}" for name in ("start", "summary", "end", "prune")}
)
"""Rows that are always built: rare, or with an old name that the reader translates."""

_STREAM = {"assistant/chunk": "chunk", "assistant/message": "message", "user/message": "prompt"}


class Way(msgspec.Struct, frozen=True):
    """How the rows of one event type are taken: built as events; passed by, being `empty`; or by their payload.

    `packed`: the type is the tag of packed rows. `text`: it may have some; `read` gives it, or None where the row has
    to be built. `prompt`, `turn`, `surface`: it may give the first prompt, tells of an open turn, or belongs to the
    model's view. `code`: what the fold calls it where its `append` needs no closer look, else -1. `stream`: what it is
    to the text between events ("chunk", "message", "prompt", "boundary", or nothing).
    """

    built: bool
    empty: bool
    packed: bool
    text: bool
    prompt: bool
    turn: bool
    surface: bool
    code: int
    stream: str
    read: Callable[[bytes | msgspec.Raw], str | None]


class Ways(dict[str, Way]):
    """How rows of each type are taken; found once for each."""

    def __init__(self, registry: Registry, generation: int) -> None:
        super().__init__()
        self._registry = registry
        self._surface_types = surface_types(generation)
        self._codes = append_codes(generation)

    def __missing__(self, kind: str) -> Way:
        text, turn, surface = self._registry.has_text(kind), kind in repair.READS, kind in self._surface_types
        way = Way(
            built=kind in _BUILT,
            empty=not (text or turn or surface),
            packed=kind in TAGS,
            text=text,
            prompt=kind in _PROMPTS,
            turn=turn,
            surface=surface,
            code=self._codes.get(kind, -1),
            stream=_STREAM.get(kind, "boundary" if kind in BOUNDARIES else ""),
            read=fast_reader(kind, self._registry),
        )
        if len(self) < _MOST_TYPES:
            self[kind] = way
        return way


@lru_cache(maxsize=16)
def ways(registry: Registry, generation: int) -> Ways:
    """The ways of a registry in a generation of the format."""
    return Ways(registry, generation)
