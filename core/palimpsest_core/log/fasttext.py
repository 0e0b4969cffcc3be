"""The indexer's short cut to semantic text: from a row's stored payload, without building it.

A typed decoder skips what holds no text (embedded streams, tool schemas, sources), which is most of a log's bytes. It
takes exactly the well-formed payloads; for everything else `fast_text` says None, and the caller expands the row and
asks `semantic_text`. Where it does answer, the answers are equal (a property test holds both together).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from palimpsest_core.base.jstext import join_parts
from palimpsest_core.log import text as registries
from palimpsest_core.log.text import FULL, REFERENCE, Registry


class _Attachment(msgspec.Struct):
    name: str = ""


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    name: str = ""
    arguments: str = ""
    toolName: str = ""
    content: list[_Block] | None = None
    attachment: _Attachment | None = None


class _Section(msgspec.Struct):
    text: str = ""


class _Source(msgspec.Struct):
    summary: str = ""
    sections: list[_Section] | None = None


class _Message(msgspec.Struct):
    content: list[_Block]
    source: _Source | None = None


class _Wrapped(msgspec.Struct):
    message: _Message


class _Error(msgspec.Struct):
    name: str = ""
    code: str = ""
    reason: str = ""


class _Result(msgspec.Struct):
    message: _Message
    error: _Error | None = None


class _Call(msgspec.Struct):
    name: str
    arguments: str


class _Tool(msgspec.Struct):
    description: str = ""


class _Header(msgspec.Struct):
    system: str = ""
    tools: list[_Tool] = []
    messagePrefix: None = None  # Only old logs have it: not for the short cut.


class _Request(msgspec.Struct):
    header: _Header


class _UnknownBlock(Exception):
    """A block that the short cut does not know."""


def _reference_blocks(content: Iterable[_Block], out: list[str]) -> None:
    for block in content:
        if block.type == "text":
            out.append(block.text)
        elif block.type == "tool-call":
            out += (block.name, block.arguments)
        elif block.type == "tool-result" and block.content:
            _reference_blocks(block.content, out)


def _full_blocks(content: Iterable[_Block], out: list[str]) -> None:
    for block in content:
        match block.type:
            case "text":
                out.append(block.text)
            case "tool-call":
                out += (block.name, block.arguments)
            case "tool-result":
                _full_blocks(block.content or (), out)
            case "reasoning" | "compaction":
                pass
            case "image" | "file":
                out.append(block.attachment.name if block.attachment else "")
            case "tool-addition" | "tool-removal":
                out.append(block.toolName)
            case _:
                raise _UnknownBlock


def _full_source(source: _Source | None, out: list[str]) -> None:
    if source is not None:
        if source.summary:
            out.append(source.summary)
        if source.sections:
            out += [section.text for section in source.sections]


def _reference_message(data: _Message) -> list[str]:
    out: list[str] = []
    _reference_blocks(data.content, out)
    return out


def _full_message(data: _Message) -> list[str]:
    out: list[str] = []
    _full_blocks(data.content, out)
    _full_source(data.source, out)
    return out


def _reference_wrapped(data: _Wrapped) -> list[str]:
    out: list[str] = []
    _reference_blocks(data.message.content, out)
    return out


def _call(data: _Call) -> list[str]:
    return [data.name, data.arguments]


def _reference_result(data: _Result) -> list[str]:
    out = _reference_message(data.message)
    if data.error is not None:
        out += (data.error.name, data.error.code)
    return out


def _full_result(data: _Result) -> list[str]:
    out: list[str] = []
    _full_blocks(data.message.content, out)
    if data.error is not None:
        out += (data.error.name, data.error.code, data.error.reason)
    return out


def _request(data: _Request) -> list[str]:
    return [data.header.system, *(tool.description for tool in data.header.tools)]


_Short = tuple[Callable[[bytes | msgspec.Raw], Any], Callable[[Any], list[str]]]


def _decode(model: type) -> Callable[[bytes | msgspec.Raw], Any]:
    return msgspec.json.Decoder(model).decode


_REFERENCE: Final[dict[str, _Short]] = {
    "user/message": (_decode(_Message), _reference_message),
    "assistant/message": (_decode(_Wrapped), _reference_wrapped),
    "tool/call": (_decode(_Call), _call),
    "tool/result": (_decode(_Result), _reference_result),
}

_FULL: Final[dict[str, _Short]] = {
    "user/message": (_decode(_Message), _full_message),
    "assistant/message": (_decode(_Wrapped), lambda data: _full_message(data.message)),
    "system/message": (_decode(_Wrapped), lambda data: _full_message(data.message)),
    "developer/message": (_decode(_Wrapped), lambda data: _full_message(data.message)),
    "tool/call": (_decode(_Call), _call),
    "tool/result": (_decode(_Result), _full_result),
    "request/header": (_decode(_Request), _request),
}

_any = msgspec.json.Decoder().decode


def _short(type: str, registry: Registry) -> _Short | None:
    """The typed short cut for an event type, if this registry reads it and every block as a built-in one."""
    for table, model in ((_REFERENCE, REFERENCE), (_FULL, FULL)):
        if registry is model:
            return table.get(type)
        same_blocks = registry.blocks == model.blocks and registry.other_block == model.other_block
        if type in table and same_blocks and registry.events.get(type) == model.events.get(type):
            return table[type]
    return None


def fast_reader(type: str, registry: Registry) -> Callable[[bytes | msgspec.Raw], str | None]:
    """`fast_text` for one event type, with everything looked up beforehand."""
    if not registry.has_text(type):
        return lambda raw: ""
    short = _short(type, registry)
    if short is None and (type not in registries.KNOWN_TYPES or type == "steering/message"):
        return lambda raw: None
    decode, parts = short if short is not None else (_any, lambda data: registry.parts(type, data))

    def read(raw: bytes | msgspec.Raw) -> str | None:
        try:
            return join_parts(parts(decode(raw)))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, _UnknownBlock):
            return None

    return read


def fast_text(type: str, raw: bytes, registry: Registry) -> str | None:
    """The semantic text of a stored payload (`raw`: the JSON under `data`); None when the short cut does not apply.

    None is no verdict on the row: expand it and ask `log.text.semantic_text`.
    """
    return fast_reader(type, registry)(raw)
