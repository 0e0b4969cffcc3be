"""One session told in order: who said what, as plain entries that the writers of transcripts render."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.formats.reader import LogReader
from palimpsest_core.log.calls import CallPairs
from palimpsest_core.log.gist import gist
from palimpsest_core.log.lineage import CutFinder
from palimpsest_core.log.messages import (
    call_of,
    content_blocks,
    is_human_prompt,
    result_call_id,
    speaker_of,
    tool_calls,
    tool_result,
)
from palimpsest_core.log.repair import RepairScan
from palimpsest_core.log.shapes import text_at
from palimpsest_core.log.surface import SurfaceFold
from palimpsest_core.log.titles import TitleFold
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import Event, Surface
from palimpsest_core.model.finding import Finding
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import Speaker
from palimpsest_core.storage.layout import LogFile

_SPEAKERS = {
    Speaker.USER: "User",
    Speaker.ASSISTANT: "Assistant",
    Speaker.TOOL: "Tool result",
    Speaker.SYSTEM: "System",
    Speaker.DEVELOPER: "Developer",
    Speaker.COMPACTION: "Summary of compacted history",
    Speaker.NOTICE: "Notice",
    Speaker.CONTEXT: "Context",
    Speaker.RELAY: "Message from another agent",
}


class Part(NamedTuple):
    """A piece of an entry. `kind`: "text", "reasoning", "call" (`title` is the tool, `text` its arguments), "result",
    "image" (`title` is the attachment's id), "file", "other"."""

    kind: str
    text: str
    title: str = ""


class Entry(NamedTuple):
    """One event as told. `speaker` is what stands above it; `surface` where it stands; `note` a short remark.

    `inherited`: taken over from the parent by a fork. `pieces` is more than 1 for streamed pieces, told together.
    `aside`: nobody speaks; a line is enough.
    """

    seq: int
    time: int
    speaker: str
    surface: Surface
    parts: list[Part]
    note: str = ""
    inherited: bool = False
    pieces: int = 1
    aside: bool = False


class Facts(NamedTuple):
    """What stands at the top of a transcript. Times are epoch milliseconds."""

    header: Header
    title: str
    findings: list[Finding]
    events: int
    current: int
    cut: int | None
    last_time: int | None


class Story:
    """A log read once for its facts and its surface, told as often as wanted."""

    def __init__(self, file: LogFile, config: Config, cancel: CancelToken | None = None) -> None:
        self._file = file
        self._config = config
        self._current: dict[int, Event] = {}
        self._closers: list[Event] = []
        self._called: dict[int, str] = {}
        with LogReader(file, config=config) as reader:
            if reader.header is None:
                raise ValueError("a file without a header tells no story")
            header = reader.header.header
            self.fold = SurfaceFold(header.version)
            titles, cuts, repair = TitleFold(), CutFinder(header), RepairScan(header.version)
            count, last_time = 0, None
            pairs, names = CallPairs(), dict[int, str]()
            for event in _events(reader, cancel):
                self._take(event)
                self._pair(event, pairs, names)
                titles.push(event)
                cuts.push(event)
                repair.push(event)
                count, last_time = count + 1, event.time
            self._closers = repair.closers()
            for event in self._closers:
                self._take(event)
                self._pair(event, pairs, names)
            title = titles.title.title if titles.title is not None else titles.first_prompt or ""
            self.facts = Facts(header, title, reader.findings, count, len(self.fold.surface), cuts.cut, last_time)

    def _take(self, event: Event) -> None:
        step = self.fold.push(event)
        for seq in step.replaced:
            self._current.pop(seq, None)
        if step.surface is Surface.CURRENT:
            self._current[event.seq] = event

    def _pair(self, event: Event, pairs: CallPairs, names: dict[int, str]) -> None:
        """Note which tool a result comes from: that of the call which it cites."""
        call = call_of(event)
        if call is not None:
            pairs.call(event.seq, call.id)
            names[event.seq] = call.name
        elif event.type == "tool/result":
            answered = pairs.cited(event.source_event_seqs)
            if answered is None:
                answered = pairs.named(result_call_id(event.data))
            if answered is not None:
                self._called[event.seq] = names.pop(answered)

    def events(self, *, everything: bool, cancel: CancelToken | None = None) -> Iterator[Event]:
        """The current surface in model order; with `everything` each event of the log in log order, closers last."""
        if not everything:
            for seq in self.fold.surface:
                check(cancel)
                yield self._current[seq]
            return
        with LogReader(self._file, config=self._config) as reader:
            yield from _events(reader, cancel)
        yield from self._closers

    def entries(self, *, everything: bool, cancel: CancelToken | None = None) -> Iterator[Entry]:
        """The entries of `events`. Runs of streamed pieces become one entry each."""
        calls: dict[str, str] = {}
        run: list[Event] = []
        for event in self.events(everything=everything, cancel=cancel):
            for call in tool_calls(event):
                calls[call.id] = call.name
            if event.type == "assistant/chunk":
                run.append(event)
                continue
            if run:
                yield self._streamed(run)
                run = []
            yield self._entry(event, calls)
        if run:
            yield self._streamed(run)

    def _inherited(self, seq: int) -> bool:
        return self.facts.cut is not None and seq < self.facts.cut

    def _streamed(self, run: list[Event]) -> Entry:
        first = run[0]
        note = f"{len(run)} streamed pieces, {first.seq} to {run[-1].seq}"
        inherited = self._inherited(first.seq)
        return Entry(first.seq, first.time, "stream", Surface.LOG_ONLY, [], note, inherited, len(run), aside=True)

    def _entry(self, event: Event, calls: dict[str, str]) -> Entry:
        surface = self.fold.kind(event.seq)
        speaker = speaker_of(event)
        parts: list[Part] = []
        note = "made up to close the log" if event.synthetic else ""
        if speaker is None:
            told = gist(event, 400).text
            name = event.type
            parts = [Part("other", told)] if told else []
        else:
            name = _SPEAKERS[speaker]
            parts = _parts(content_blocks(event))
            if speaker is Speaker.USER and not is_human_prompt(event):
                name = _SPEAKERS[Speaker.CONTEXT]
        result = tool_result(event)
        if result is not None:
            name = f"Result of {self._called.get(event.seq) or calls.get(result.call_id) or 'a tool'}"
            if result.is_error:
                failed = ": ".join([piece for piece in (result.error_name, result.error_code) if piece])
                note = " ".join([piece for piece in (f"failed ({failed})" if failed else "failed", note) if piece])
        inherited = self._inherited(event.seq)
        return Entry(event.seq, event.time, name, surface, parts, note, inherited, aside=speaker is None)


def _events(reader: LogReader, cancel: CancelToken | None) -> Iterator[Event]:
    for rows in reader.batches(cancel):
        for row in rows:
            yield from reader.expand(row)


def _parts(blocks: list[dict[str, Any]]) -> list[Part]:
    parts: list[Part] = []
    waiting = list(reversed(blocks))
    while waiting:
        block = waiting.pop()
        kind = text_at(block, "type")
        if kind in ("text", "reasoning"):
            parts.append(Part(kind, text_at(block, "text")))
        elif kind == "tool-call":
            parts.append(Part("call", text_at(block, "arguments"), text_at(block, "name")))
        elif kind in ("image", "file"):
            name = text_at(block, "attachment", "name")
            parts.append(Part(kind, name, text_at(block, "attachment", "attachmentId")))
        elif kind == "tool-result":
            nested = block.get("content")
            waiting.extend(
                reversed([item for item in nested if isinstance(item, dict)] if isinstance(nested, list) else [])
            )
        else:
            parts.append(Part("other", f"[unsupported block {kind}]"))
    return parts
