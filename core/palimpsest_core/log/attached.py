"""Which images and files the text of a log refers to (session format, sections 1.6 and 7.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from palimpsest_core.formats.jsjson import BadJson, is_safe_int, loads

_MARK = b'"attachmentId"'


class Reference(NamedTuple):
    """An attachment as a log names it: id (`sha256:<hex>`), media type (empty for files), its size in bytes (-1 when it
    is not told), `image` or `file`, its name (empty without one), and the seq that its first row claims (-1: none)."""

    attachment_id: str
    media_type: str
    size: int
    kind: str = "image"
    name: str = ""
    seq: int = -1


class AttachmentFinder:
    """Takes the text of a log as it comes and remembers each distinct attachment, in the order of first mention.

    `kinds`: the block types that are looked for. Looked into: message content with nested tool results, wrapped
    messages, inserted inbox messages, finished blocks of streams, and dispatch results. A line that is no JSON holds
    none; one longer than `longest` bytes is no row.
    """

    def __init__(self, longest: int = 256 << 20, kinds: Collection[str] = ("image",)) -> None:
        self.found: dict[str, Reference] = {}
        self._kinds = kinds
        self._longest = longest
        self._rest: list[bytes] = []
        self._held = 0

    def feed(self, text: bytes) -> None:
        """Take the next piece of text; pieces may end anywhere."""
        end = text.rfind(b"\n") + 1
        if not end:
            self._hold(text)
            return
        head = text[:end]
        if self._held > self._longest:
            head = head[head.find(b"\n") + 1 :]
        elif self._rest:
            head = b"".join(self._rest) + head
        self._rest.clear()
        self._held = 0
        if end < len(text):
            self._hold(text[end:])
        if _MARK in head:
            for line in head.split(b"\n"):
                if _MARK in line:
                    self._line(line)

    def _hold(self, text: bytes) -> None:
        self._held += len(text)
        if self._held > self._longest:
            self._rest.clear()
        else:
            self._rest.append(text)

    def finish(self) -> None:
        """Take what stands behind the last line feed for a line too."""
        rest, self._rest = b"".join(self._rest), []
        if _MARK in rest:
            self._line(rest)

    def _line(self, line: bytes) -> None:
        try:
            row = loads(line)
        except BadJson:
            return
        data = row.get("data") if isinstance(row, dict) else None
        if isinstance(data, dict):
            seq = row.get("seq")
            for block in _blocks(data):
                reference = _reference(block, self._kinds, seq if is_safe_int(seq, 0) else -1)
                if reference is not None:
                    self.found.setdefault(reference.attachment_id, reference)


def _blocks(data: dict[str, Any]) -> Iterator[Any]:
    """Every content block of a payload, containers of blocks before what they hold."""
    waiting: list[Any] = [data.get("content"), _in(data, "message", "content"), [_in(data, "chunk", "block")]]
    waiting += [_in(message, "content") for message in _items(data.get("inserted"))]
    waiting.append([_in(record, "chunk", "block") for record in _items(data.get("stream"))])
    waiting.reverse()
    while waiting:
        blocks = _items(waiting.pop())
        nested = []
        for block in blocks:
            yield block
            nested.append(_in(block, "content"))
        waiting.extend(reversed(nested))


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _in(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _reference(block: Any, kinds: Collection[str], seq: int) -> Reference | None:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        return None
    attachment = block.get("attachment")
    if not isinstance(attachment, dict) or not isinstance(attachment_id := attachment.get("attachmentId"), str):
        return None
    media_type, size, name = attachment.get("mediaType"), attachment.get("bytes"), attachment.get("name")
    return Reference(
        attachment_id,
        media_type if isinstance(media_type, str) else "",
        size if isinstance(size, int) and not isinstance(size, bool) else -1,
        kind,
        name if isinstance(name, str) else "",
        seq,
    )
