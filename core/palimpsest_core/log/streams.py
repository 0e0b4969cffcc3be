"""Text out of streamed pieces: the chunk events of v0 and v1, the embedded streams of v2 and later.

Session format, sections 4.4 and 4.6.
"""

from __future__ import annotations

from typing import Any

from palimpsest_core.log.shapes import member, objects_at, text_at, whole

PACKED = {"text-chunks": "text", "reasoning-chunks": "reasoning", "tool-call-chunks": "tool-call"}
"""Tag of a packed row or record -> type of the block that its pieces belong to."""

_DELTAS = {"text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "tool-call"}


class _Block:
    __slots__ = ("kind", "name", "pieces", "whole")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.name = ""
        self.pieces: list[str] = []
        self.whole: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        if self.whole is not None:
            return self.whole
        text = "".join(self.pieces)
        if self.kind == "tool-call":
            return {"type": "tool-call", "name": self.name, "arguments": text}
        return {"type": self.kind, "text": text}


class StreamBlocks:
    """The content blocks of one streamed attempt, put together piece by piece."""

    __slots__ = ("_blocks", "_closed")

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._closed: list[dict[str, Any]] = []

    def _block(self, index: Any, kind: str) -> _Block:
        place = whole(index) or 0
        block = self._blocks.get(place)
        if block is not None and (block.whole is not None or block.kind != kind):
            # The same place once more: another attempt's block, not to be glued onto the first.
            self._closed.append(block.as_json())
            del self._blocks[place]
        return self._blocks.setdefault(place, _Block(kind))

    def add_packed(self, tag: str, data: Any) -> None:
        """Take the pieces of one packed row (`data`) or record; `tag` is its type."""
        kind = PACKED[tag]
        block = self._block(member(data, "index"), kind)
        pieces = member(data, "args" if kind == "tool-call" else "texts")
        if isinstance(pieces, list):
            block.pieces.extend(piece for piece in pieces if isinstance(piece, str))
        block.name = block.name or text_at(data, "name")

    def add_chunk(self, chunk: Any) -> None:
        """Take one chunk: a delta or the end of a block; other kinds hold no text."""
        kind = text_at(chunk, "type")
        if kind in _DELTAS:
            block = self._block(member(chunk, "index"), _DELTAS[kind])
            block.pieces.append(text_at(chunk, "argumentsDelta" if kind == "tool-call-delta" else "text"))
            block.name = block.name or text_at(chunk, "name")
        elif kind == "block-end":
            complete = member(chunk, "block")
            if isinstance(complete, dict):
                place = whole(member(chunk, "index")) or 0
                open_block = self._blocks.get(place)
                if open_block is None or open_block.whole is not None:
                    open_block = self._block(place, text_at(complete, "type"))
                open_block.whole = complete

    def add_stream(self, stream: Any) -> None:
        """Take an embedded stream (the list under `stream`)."""
        for record in objects_at({"stream": stream}, "stream"):
            tag = text_at(record, "type")
            if tag in PACKED:
                self.add_packed(tag, record)
            elif tag == "chunk":
                self.add_chunk(record.get("chunk"))

    def content(self) -> list[dict[str, Any]]:
        """The blocks so far, in their order, as content blocks (reasoning included)."""
        return [*self._closed, *(self._blocks[place].as_json() for place in sorted(self._blocks))]


def attempt_content(data: Any) -> list[dict[str, Any]]:
    """The content blocks of an `assistant/attempt` (or of any payload with an embedded stream)."""
    blocks = StreamBlocks()
    blocks.add_stream(member(data, "stream"))
    return blocks.content()
