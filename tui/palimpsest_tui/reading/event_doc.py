"""An event as text to read: Markdown rendered, code highlighted, diffs as diffs, images as cards. For a worker."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from palimpsest_core import (
    CancelToken,
    attachments_of,
    call_of,
    content_blocks,
    gist,
    printable,
    printable_line,
    source_of,
    speaker_of,
    tool_result,
    usage_of,
)
from palimpsest_core.model.event import Event
from palimpsest_tui.reading.code import code_lines, diff_lines, lexer_for_path, lexer_named, looks_like_diff
from palimpsest_tui.reading.lines import Block, Document, FixedBlock, Line, LongBlock, Piece, plain, wrap
from palimpsest_tui.reading.markdown import MARKDOWN_MAX_CHARS, markdown_lines
from palimpsest_tui.widgets import numbers

RICH_MAX_CHARS = MARKDOWN_MAX_CHARS
_SHOWN_MAX_CHARS = 16_000_000
_PATH_KEYS = ("path", "file_path", "filePath", "filename", "file", "notebook_path")
_COMMAND_KEYS = ("command", "cmd", "script")
_OLD_NEW = (("old_string", "new_string"), ("oldText", "newText"), ("old_text", "new_text"), ("old", "new"))
_MARKDOWN_EVENTS = frozenset({"user/message", "assistant/message", "assistant/attempt", "steering/message"})
_INBOX = "agent/inbox/spliced"
_FIRST_KEYS = ("content", "message", "stream", "summary")
_SOURCE_KEYS = frozenset(
    {
        "kind",
        "plugin",
        "provider",
        "model",
        "replayState",
        "callId",
        "rpcId",
        "clientTimeZone",
        "form",
        "senderSessionId",
    }
)
"""What is said of a source in the first line, or elsewhere (the trace leads to other sessions), or is no text."""
_MESSAGE_KEYS = frozenset(
    {"id", "role", "content", "source", "toolCallId", "isError", "turn", "step", "message", "stream", "usage", "error"}
)


class TextBuilder:
    """Collects the blocks of one event's text."""

    def __init__(
        self,
        width: int,
        *,
        wrapped: bool,
        cancel: CancelToken,
        stored: Callable[[str, str], bool | None] | None = None,
    ) -> None:
        """`stored`: whether an attachment, by id and kind, is still there; None when nobody knows."""
        self._width = max(width, 12)
        self._wrapped = wrapped
        self._cancel = cancel
        self._stored = stored
        self._blocks: list[Block] = []
        self._plain: list[str] = []

    def document(self, event: Event, head: Sequence[Line]) -> Document:
        """The document of an event under the lines of its head."""
        self._put([*head])
        self._event(event)
        return Document(self._blocks, copy_text="\n".join(self._plain).strip("\n"))

    def run_document(self, events: Iterable[Event], count: int, head: Sequence[Line]) -> Document:
        """The document of a folded run: the pieces of an answer put together, other events one line each."""
        self._put([*head])
        kind, joined = "", [""]
        for event in events:
            self._cancel.raise_if_set()
            piece = _streamed(event)
            if piece is None:
                self._run_text(kind, joined)
                kind, joined = "", [""]
                found = gist(event)
                self._put(self._wrap([Piece(f"{event.seq} ", "line--dim"), Piece(f"{found.label} {found.text}")]))
                continue
            if piece[0] != kind:
                self._run_text(kind, joined)
                kind, joined = piece[0], []
            joined.append(piece[1])
        self._run_text(kind, joined)
        self._put([[], plain(f"{numbers.plural(count, 'event')} in one row; enter opens them", "line--dim")])
        return Document(self._blocks, copy_text="\n".join(self._plain).strip("\n"))

    def _run_text(self, kind: str, joined: list[str]) -> None:
        text = "".join(joined)
        if text:
            self._title(kind)
            self._text(text, markdown=kind == "text", style="line--dim" if kind == "reasoning" else "")

    # One event ---------------------------------------------------------------------------------------------------

    def _event(self, event: Event) -> None:
        blocks = content_blocks(event)
        call = call_of(event)
        result = tool_result(event)
        source = source_of(event)
        speaker = speaker_of(event)
        if speaker is not None and source:
            said_by = [speaker.value, *(str(source[key]) for key in ("kind", "plugin", "model") if source.get(key))]
            self._put([plain(printable_line(" · ".join(dict.fromkeys(said_by))), "line--dim")])
        if result is not None and result.is_error:
            parts = [part for part in (result.error_name, result.error_code, result.error_reason) if part]
            self._put(self._wrap([Piece("error ", "badge--error"), Piece(printable_line(" · ".join(parts)))]))
        if call is not None:
            self._call(call.name, call.arguments)
        elif event.type == _INBOX and isinstance(event.data, dict):
            self._inbox(event.data)
        elif blocks:
            markdown = event.type in _MARKDOWN_EVENTS or event.type.endswith("/summary")
            for block in blocks:
                self._cancel.raise_if_set()
                self._content(block, markdown=markdown)
        elif event.type not in _MARKDOWN_EVENTS or not isinstance(event.data, dict) or not event.data.get("content"):
            self._fields(event.data)
        if blocks and event.type not in _MARKDOWN_EVENTS and isinstance(event.data, dict):
            rest = {key: value for key, value in event.data.items() if key not in _FIRST_KEYS}
            if event.type != "tool/result" and rest:
                self._title("fields")
                self._fields(rest)
        for attachment in attachments_of(event):
            self._card(attachment)
        if speaker is not None:
            self._rest("source", source, _SOURCE_KEYS)
            inner = event.data.get("message") if isinstance(event.data, dict) else None
            self._rest("more of the message", inner if isinstance(inner, dict) else event.data, _MESSAGE_KEYS)
        usage = usage_of(event)
        if usage is not None:
            told = ("input", "output", "cache_read", "cache_write", "reasoning")
            parts = [
                f"{name.replace('_', ' ')} {value}" for name in told if (value := getattr(usage, name)) is not None
            ]
            if parts:
                self._put([[], plain("tokens: " + " · ".join(parts), "line--dim")])

    def _rest(self, title: str, value: Any, known: Collection[str]) -> None:
        """Members of a message that have no place of their own: texts of its source, what nobody knows."""
        rest = {key: item for key, item in value.items() if key not in known} if isinstance(value, dict) else {}
        if rest:
            self._title(title)
            self._fields(rest)

    def _inbox(self, data: dict[str, Any]) -> None:
        """Queued messages as messages, the payload as it is beneath."""
        inserted = data.get("inserted")
        for message in inserted if isinstance(inserted, list) else ():
            if not isinstance(message, dict):
                continue
            source = message.get("source")
            kind = source.get("kind") if isinstance(source, dict) else None
            said_by = f"{kind or message.get('role') or 'somebody'}, queued for {data.get('target') or 'later'}"
            self._put([plain(printable_line(said_by), "line--dim")])
            content = message.get("content")
            for block in content if isinstance(content, list) else ():
                if isinstance(block, dict):
                    self._content(block, markdown=True)
        copied = len(self._plain)
        if copied:
            self._title("fields")
        self._fields(data)
        if copied:
            del self._plain[copied:]

    def _content(self, block: dict[str, Any], *, markdown: bool) -> None:
        kind = block.get("type")
        text = block.get("text")
        if kind == "text" and isinstance(text, str):
            self._title("text")
            self._text(text, markdown=markdown)
        elif kind == "reasoning" and isinstance(text, str):
            self._title("reasoning")
            self._text(text, markdown=False, style="line--dim")
        elif kind == "tool-call":
            self._title("tool call")
            self._call(str(block.get("name", "")), block.get("arguments"))
        elif kind == "tool-result" and isinstance(block.get("content"), list):
            self._title("tool result")
            for inner in block["content"]:
                if isinstance(inner, dict):
                    self._content(inner, markdown=False)
        elif kind in ("tool-addition", "tool-removal"):
            sign = "+" if kind == "tool-addition" else "-"
            self._plain_line(f"{sign} tool {block.get('toolName', '')}")
        elif kind not in ("image", "file"):
            self._title(f"unsupported block {kind}")
            self._fields({key: value for key, value in block.items() if key != "type"})

    def _call(self, name: str, arguments: Any) -> None:
        self._put([[], [Piece(printable_line(name), "text--strong")]])
        if not isinstance(arguments, str):
            self._fields(arguments)
            return
        self._plain.append(f"{name} {arguments}")
        try:
            parsed = json.loads(arguments) if len(arguments) <= RICH_MAX_CHARS else None
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, dict):
            self._arguments(parsed)
        elif arguments:
            self._text(arguments, markdown=False, copied=False)

    def _arguments(self, arguments: dict[str, Any]) -> None:
        path = next((arguments[key] for key in _PATH_KEYS if isinstance(arguments.get(key), str)), "")
        shown = set()
        for old_key, new_key in _OLD_NEW:
            old, new = arguments.get(old_key), arguments.get(new_key)
            if isinstance(old, str) and isinstance(new, str) and path:
                shown |= {old_key, new_key}
                self._change(path, old, new)
                break
        for key, value in arguments.items():
            if key in shown:
                continue
            if isinstance(value, str) and ("\n" in value or len(value) > self._width - len(key) - 4):
                lexer = lexer_named("bash") if key in _COMMAND_KEYS else lexer_for_path(path) if path else None
                self._put([[Piece(printable_line(key), "json--key"), Piece(":", "line--dim")]])
                self._code(value, lexer)
            else:
                self._field(key, value, 0)

    def _change(self, path: str, old: str, new: str) -> None:
        if len(old) + len(new) > RICH_MAX_CHARS:
            self._title("old")
            self._text(old, markdown=False, copied=False)
            self._title("new")
            self._text(new, markdown=False, copied=False)
            return
        name = printable_line(path)
        lines = difflib.unified_diff(
            printable(old).split("\n"),
            printable(new).split("\n"),
            f"{name} (before)",
            f"{name} (after)",
            lineterm="",
            n=3,
        )
        self._lines(diff_lines("\n".join(lines)))

    def _card(self, attachment: Any) -> None:
        size = numbers.size(attachment.bytes) if attachment.bytes is not None else "size unknown"
        shape = f" · {attachment.width}x{attachment.height}" if attachment.width and attachment.height else ""
        what = attachment.media_type or attachment.kind
        gone = " · left out of later requests" if attachment.offloaded else ""
        if self._stored is not None and self._stored(attachment.id, attachment.kind) is False:
            gone += " · not in the attachment store"
        first = printable_line(f"{attachment.kind}: {attachment.name or 'unnamed'}")
        second = printable_line(f"{what} · {size}{shape}{gone}")
        room = min(self._width - 4, max(len(first), len(second), 24))
        bar = "─" * (room + 2)
        lines = [plain(f"┌{bar}┐", "line--dim")]
        for text, style in ((first, "text--strong"), (second, ""), (printable_line(attachment.id), "line--dim")):
            for part in wrap(plain(text, style), room):
                pad = " " * (room - sum(len(piece.text) for piece in part))
                lines.append([Piece("│ ", "line--dim"), *part, Piece(pad + " │", "line--dim")])
        lines.append(plain(f"└{bar}┘", "line--dim"))
        self._put([[], *lines])

    # Payloads without words of their own -------------------------------------------------------------------------

    def _fields(self, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                self._field(str(key), inner, 0)
        elif value is not None:
            self._field("value", value, 0)

    def _field(self, key: str, value: Any, depth: int) -> None:
        lead = [Piece("  " * depth), Piece(printable_line(key), "json--key"), Piece(": ", "line--dim")]
        if isinstance(value, dict) and value and depth < 6:
            self._put([lead])
            for inner_key, inner in value.items():
                self._field(str(inner_key), inner, depth + 1)
        elif isinstance(value, list) and value and depth < 6 and any(isinstance(item, (dict, list)) for item in value):
            self._put([[*lead, Piece(numbers.plural(len(value), "entry", "entries"), "line--dim")]])
            for number, inner in enumerate(value[:200]):
                self._field(str(number), inner, depth + 1)
            if len(value) > 200:
                self._put([plain("  " * depth + f"  and {len(value) - 200} more, see Raw", "line--dim")])
        elif isinstance(value, str):
            self._plain.append(value)
            if len(value) > RICH_MAX_CHARS:
                self._put([lead])
                self._long(value)
                return
            first, *others = printable(value).split("\n")
            self._put(wrap([*lead, Piece(first)], self._width, 2 * depth + 2))
            for other in others:
                self._put(wrap(plain("  " * (depth + 1) + other), self._width, 2 * depth + 2))
        else:
            shown = json.dumps(value, ensure_ascii=False, default=str)
            self._put(wrap([*lead, Piece(printable_line(shown[:4000]), "json--value")], self._width, 2 * depth + 2))

    # Text --------------------------------------------------------------------------------------------------------

    def _text(self, text: str, *, markdown: bool, style: str = "", copied: bool = True) -> None:
        if copied:
            self._plain.append(text)
        if len(text) > RICH_MAX_CHARS:
            if markdown and not style:
                self._as_it_stands(text)
            self._long(text)
            return
        safe = printable(text).replace("\t", "    ")
        if looks_like_diff(safe):
            self._lines(diff_lines(safe))
        elif markdown and not style:
            self._put(markdown_lines(safe, self._width))
        else:
            self._lines([plain(line, style) for line in safe.split("\n")])

    def _code(self, text: str, lexer: Any) -> None:
        if len(text) > RICH_MAX_CHARS:
            self._as_it_stands(text)
            self._long(text)
        else:
            lines = code_lines(printable(text).replace("\t", "    "), lexer)
            self._lines([[Piece("  "), *line] for line in lines])

    def _as_it_stands(self, text: str) -> None:
        told = f"{numbers.exact(len(text))} characters: plain text, formatted up to {numbers.exact(RICH_MAX_CHARS)}"
        self._put([plain(told, "line--dim")])

    def _long(self, text: str) -> None:
        shown = text[:_SHOWN_MAX_CHARS]
        self._blocks.append(LongBlock(shown, self._width, wrapped=self._wrapped, tick=self._cancel.raise_if_set))
        if len(shown) < len(text):
            left = numbers.exact(len(text) - len(shown))
            self._put([plain(f"… {left} more characters: open the event in the pager", "badge--error")])

    def _lines(self, lines: Sequence[Line]) -> None:
        if self._wrapped:
            self._put([part for line in lines for part in wrap(line, self._width)])
        else:
            self._put(list(lines))

    def _wrap(self, line: Line) -> list[Line]:
        return wrap(line, self._width, 2)

    def _plain_line(self, text: str) -> None:
        self._plain.append(text)
        self._put(wrap(plain(printable_line(text)), self._width))

    def _title(self, name: str) -> None:
        label = f"─ {printable_line(name)} "
        self._put([[], plain(label + "─" * max(2, min(28, self._width) - len(label)), "line--dim")])

    def _put(self, lines: list[Line]) -> None:
        self._blocks.append(FixedBlock(lines))


_DELTAS = {
    "text-delta": ("text", "text"),
    "reasoning-delta": ("reasoning", "text"),
    "tool-call-delta": ("tool call", "argumentsDelta"),
}


def _streamed(event: Event) -> tuple[str, str] | None:
    """The kind and the text of a streamed piece; an empty text for its beginning and end; None for other events."""
    chunk = event.data.get("chunk") if event.type == "assistant/chunk" and isinstance(event.data, dict) else None
    if not isinstance(chunk, dict):
        return None
    kind, key = _DELTAS.get(str(chunk.get("type")), ("", ""))
    text = chunk.get(key)
    return kind, text if isinstance(text, str) else ""
