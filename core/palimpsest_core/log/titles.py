"""The title in force (spec: session format, section 6.8; engine contract, section 2)."""

from __future__ import annotations

import re
from typing import Any, Final

from palimpsest_core.base.jsjson import spread
from palimpsest_core.base.jstext import trim, words
from palimpsest_core.log.messages import is_human_prompt
from palimpsest_core.log.shapes import member, text_at
from palimpsest_core.log.text import REFERENCE, semantic_text
from palimpsest_core.model.event import UNSET, Event
from palimpsest_core.model.session import Title

TITLE_BYTES: Final = 80
"""How much of a prompt stands in for a title, in bytes of UTF-8 (the harness's own limit for titles)."""

_ESCAPES = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b.|[\x00-\x1f\x7f-\x9f]")
_SOURCE_MEMBERS: Final = {"fallback": (), "user": (), "provider": ("provider", "model")}


def title_of(event: Event) -> Title | None:
    """The title that an event sets, or None for other events and for a title that is no text.

    A source of a known kind is given with its known members only; message seqs that are no list count as none.
    """
    if event.type != "session/title":
        return None
    title, seqs, source = (member(event.data, key) for key in ("title", "messageSeqs", "source"))
    if not isinstance(title, str):
        return None
    known = _SOURCE_MEMBERS.get(text_at(source, "kind"))
    if known is not None:
        source = {"kind": source["kind"], **{key: source[key] for key in known if key in source}}
    return Title(
        title=title,
        message_seqs=list(seqs) if isinstance(seqs, list) else [],
        source=source,
        event_seq=event.seq,
        updated_at=event.time,
    )


class UnreadableTitle(ValueError):
    """A title event that the reference cannot read; its text says why in one sentence."""


def reference_title(event: Event) -> Title:
    """A `session/title` event as the reference tells it, which copies what is there whatever its type.

    So the title itself may be no text or be missing (UNSET), message seqs that are a text come as its characters, and
    a model that is no object as one (`jsjson.spread`). Raises `UnreadableTitle`.
    """
    seqs, source = member(event.data, "messageSeqs"), member(event.data, "source")
    if not isinstance(seqs, (list, str)):
        raise UnreadableTitle(f"The title at event {event.seq} does not list the messages that it names.")
    known = _SOURCE_MEMBERS.get(text_at(source, "kind"))
    if known is None:
        raise UnreadableTitle(f"The title at event {event.seq} comes from a source of an unknown kind.")
    copied = {"kind": source["kind"], **{key: source[key] for key in known if key in source}}
    if "model" in copied:
        copied["model"] = spread(copied["model"])
    title: Any = event.data.get("title", UNSET)
    return Title(title=title, message_seqs=list(seqs), source=copied, event_seq=event.seq, updated_at=event.time)


def title_source(title: Title) -> str:
    """Who set a title: `fallback`, `provider` or `user`, or another kind as stored; empty when it does not say."""
    return text_at(title.source, "kind")


def is_inherited(title: Title, cut: int | None) -> bool:
    """Whether a title stands in the inherited prefix, so that it names the ancestor (cut: `log.lineage`)."""
    return cut is not None and title.event_seq < cut


def short_title(text: str, limit: int = TITLE_BYTES) -> str:
    """A prompt as a title: one line without control characters or escape sequences, at most `limit` bytes of UTF-8.

    It is cut between words where that leaves at least half, and then ends in an ellipsis.
    """
    line = " ".join(words(_ESCAPES.sub(" ", text[: limit * 16])))
    encoded = line.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return line
    kept = encoded[: limit - len("…".encode())].decode("utf-8", "ignore")
    head, space, _ = kept.rpartition(" ")
    return trim(head if space and len(head) * 2 >= len(kept) else kept) + "…"


class TitleFold:
    """The title in force and the first human prompt, while the log goes by."""

    __slots__ = ("first_prompt", "title")

    def __init__(self, title: Title | None = None, first_prompt: str | None = None) -> None:
        """Start anew, or go on from what an earlier fold had found."""
        self.title = title
        """The last title, whoever wrote it."""
        self.first_prompt = first_prompt
        """The start of the first human prompt that has text, as a title."""

    def push(self, event: Event) -> None:
        """Take the next event."""
        title = title_of(event)
        if title is not None:
            self.title = title
        elif self.first_prompt is None and is_human_prompt(event):
            self.first_prompt = short_title(semantic_text(event, REFERENCE)) or None

    @property
    def shown(self) -> str | None:
        """What to call the session: its title, else its first prompt, else None. Foreign text: print it with care."""
        return (self.title.title if self.title is not None else None) or self.first_prompt


def current_title(events: Any) -> Title | None:
    """The title in force of a whole log (any iterable of events)."""
    found = None
    for event in events:
        found = title_of(event) or found
    return found
