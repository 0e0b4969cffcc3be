"""Semantic text: what of an event can be found (spec: engine contract, section 4).

A `Registry` maps event types and content-block types to extractors, each with a version. Two are built in: `REFERENCE`
is the contract's table and nothing else; `FULL` adds every text that the session format's vocabulary (section 6) names,
and the strings of types nobody knows. Extractors give parts; `semantic_text` trims them, drops the empty ones and joins
the rest with newlines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from palimpsest_core.base.jstext import join_parts
from palimpsest_core.log import extractors as built_in
from palimpsest_core.log.extractors import Inside, Part
from palimpsest_core.model.event import Event

Extract = Callable[[Any], Iterable[Part]]
"""An extractor: an event's payload, or a content block, to text parts (or `Inside`, nested content to go on with).

It must not raise, whatever the payload is: the log is foreign.
"""


class Extractor(NamedTuple):
    """One entry of a registry. Change `version` whenever `extract` may answer differently."""

    version: str
    extract: Extract


class Registry:
    """Extractors by event type and by block type; immutable, `with_event` and `with_block` give a changed copy.

    `other_event` and `other_block` take the types that nobody registered (None: they have no text). `loose` says
    whether text that belongs to no single event is searched too (`log.loose`).
    """

    __slots__ = ("blocks", "events", "loose", "other_block", "other_event")

    def __init__(
        self,
        events: Mapping[str, Extractor],
        blocks: Mapping[str, Extractor],
        *,
        other_event: Extractor | None = None,
        other_block: Extractor | None = None,
        loose: str | None = None,
    ) -> None:
        self.events = MappingProxyType(dict(events))
        self.blocks = MappingProxyType(dict(blocks))
        self.other_event = other_event
        self.other_block = other_block
        self.loose = loose

    def with_event(self, type: str, version: str, extract: Extract) -> Registry:
        """A copy with one event extractor added or replaced."""
        return self._copy(events={**self.events, type: Extractor(version, extract)})

    def with_block(self, type: str, version: str, extract: Extract) -> Registry:
        """A copy with one block extractor added or replaced."""
        return self._copy(blocks={**self.blocks, type: Extractor(version, extract)})

    def _copy(
        self, *, events: Mapping[str, Extractor] | None = None, blocks: Mapping[str, Extractor] | None = None
    ) -> Registry:
        return Registry(
            self.events if events is None else events,
            self.blocks if blocks is None else blocks,
            other_event=self.other_event,
            other_block=self.other_block,
            loose=self.loose,
        )

    def fingerprint(self) -> str:
        """16 hex digits that change when an extractor is added, dropped or gets a new version."""
        lines = [f"event {name} {entry.version}" for name, entry in self.events.items()]
        lines += [f"block {name} {entry.version}" for name, entry in self.blocks.items()]
        others = (("other-event", self.other_event), ("other-block", self.other_block))
        lines += [f"{name} {entry.version}" for name, entry in others if entry is not None]
        lines.append(f"loose {self.loose}")
        return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def has_text(self, type: str) -> bool:
        """Whether an event of this type can have text at all."""
        entry = self.events.get(type, self.other_event)
        return entry is not None and entry.extract is not built_in.nothing

    def parts(self, type: str, data: Any) -> list[str]:
        """The untrimmed text parts of an event's payload."""
        entry = self.events.get(type, self.other_event)
        return [] if entry is None else self._spread(entry.extract(data))

    def content_parts(self, content: Any) -> list[str]:
        """The untrimmed text parts of a list of content blocks."""
        return self._spread([Inside(content)])

    def _spread(self, items: Iterable[Part]) -> list[str]:
        """Parts with nested content put in place. By its own stack: blocks may nest deeper than the interpreter's."""
        found: list[str] = []
        stack = list(items)[::-1]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                found.append(item)
            elif isinstance(item.content, str):
                # No generation allows plain text for a list of blocks; where nothing may be lost it is text.
                if self.other_block is not None:
                    found.append(item.content)
            elif isinstance(item.content, list):
                for block in reversed(item.content):
                    stack.extend(self._block_items(block))
        return found

    def _block_items(self, block: Any) -> list[Part]:
        """What one block gives, last part first."""
        kind = block.get("type") if isinstance(block, dict) else None
        entry = self.blocks.get(kind) if isinstance(kind, str) else None
        entry = entry or self.other_block
        return [] if entry is None else list(entry.extract(block))[::-1]


def _built_in(version: str, table: Mapping[str, Extract]) -> dict[str, Extractor]:
    return {name: Extractor(version, extract) for name, extract in table.items()}


REFERENCE: Final = Registry(_built_in("1", built_in.REFERENCE_EVENTS), _built_in("1", built_in.REFERENCE_BLOCKS))
"""The contract's table exactly: what strict mode uses."""

FULL: Final = Registry(
    _built_in("full-1", built_in.FULL_EVENTS),
    _built_in("full-1", built_in.FULL_BLOCKS),
    other_event=Extractor("full-1", built_in.every_string),
    other_block=Extractor("full-1", built_in.every_string),
    loose="1",
)
"""Everything worth finding: what the app, the command line and the tools use."""

KNOWN_TYPES: Final = frozenset(built_in.FULL_EVENTS)
"""Every event type that some generation of the format is known to have, old names included."""


def registry_for(name: str) -> Registry:
    """The built-in registry by the name of the setting `extractors`. Raises KeyError for another name."""
    return {"reference": REFERENCE, "full": FULL}[name]


def semantic_text(event: Event, registry: Registry) -> str:
    """The text of an event; empty when it has none (then it has no document). Never raises with the built-in sets."""
    return join_parts(registry.parts(event.type, event.data))


def full_text(event: Event) -> str:
    """All text of an event that can be found in the app: `semantic_text` by the full set of extractors."""
    return semantic_text(event, FULL)


def content_text(content: Any, registry: Registry) -> str:
    """The text of a list of content blocks."""
    return join_parts(registry.content_parts(content))
