"""A root with one healthy log and one that is not: everything an engine offers is asked, and nothing may break."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from logmaking import header, packed, prompt, row, text_of
from msgspec.structs import replace
from mutating import HEALTHY, Mutant, frame

from palimpsest_core import Engine
from palimpsest_core.base.errors import SessionQueryError
from palimpsest_core.base.jstext import well_formed
from palimpsest_core.export.errors import ExportError
from palimpsest_core.export.transcript import Form
from palimpsest_core.formats.reader import LogChanged, read_log
from palimpsest_core.log.compaction import CompactionIndex
from palimpsest_core.log.forgotten import forgotten
from palimpsest_core.log.gist import gist
from palimpsest_core.log.links import session_links
from palimpsest_core.log.messages import attachments_of, speaker_of
from palimpsest_core.log.usage import usage_of
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import Event
from palimpsest_core.model.header import Header
from palimpsest_core.query.durable import observed_log
from palimpsest_core.query.openlog import OpenLog
from palimpsest_core.query.reads import session_log
from palimpsest_core.query.secondlook import second_look
from palimpsest_core.query.statistics import statistics_of
from palimpsest_core.query.table import Flag
from palimpsest_core.storage.layout import LogFile, project_folder_name, session_folder_name
from palimpsest_core.writer.rescue import rescue

WORD = "quokkafound"
TOO_LONG_S = 2.0
"""Seconds of processor time; a mutant on which any one call needs more is a hang."""

TOLERANT = Config(mode="tolerant", tokenizer="unicode61-cjk")
STRICT = Config(mode="strict", extractors="reference")


class Hang(Exception):
    """A call took longer than `TOO_LONG_S` of processor time."""


@contextmanager
def bounded(seconds: float = TOO_LONG_S) -> Iterator[None]:
    """Raise `Hang` in the middle of a block that needs more processor time than that."""

    def ring(_number: int, _at: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _healthy() -> bytes:
    source = {"kind": "model", "provider": "p", "model": "m"}
    content = [{"type": "text", "text": f"the {WORD} of old"}]
    reply = {"role": "assistant", "id": "a4", "source": source, "content": content}
    rows = [
        row(0),
        prompt(1, f"where is {WORD}"),
        row(2, "step/start", {"turn": 1, "step": 1}),
        packed(3, ["one ", "two ", "three"]),
        row(6, "assistant/message", {"turn": 1, "step": 1, "message": reply}, surfaceOp="append"),
        row(7, "step/end", {"turn": 1, "step": 1}),
        row(8, "turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
    ]
    return frame(text_of([header(session_id=HEALTHY)])) + frame(text_of(rows[:3])) + frame(text_of(rows[3:]))


class Trial:
    """One root that is used again for mutant after mutant, as a directory in which a log changes all the time."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "sessions"
        self.out = folder / "out"
        self.out.mkdir(parents=True)
        place = self.root / project_folder_name("/srv/a") / session_folder_name(HEALTHY)
        place.mkdir(parents=True)
        (place / "session.jsonl.zstd").write_bytes(_healthy())
        self._stamp = 1_700_000_000_000_000_000
        self._place: Path | None = None
        self.engine = Engine(self.root, index=":memory:", config=TOLERANT)
        self.strict = Engine(self.root, index=":memory:", config=STRICT)
        self.engine.refresh()
        self.baseline = self._neighbour()
        self.strict_baseline = repr(self.strict.read_session(HEALTHY))

    def close(self) -> None:
        """Close both engines."""
        self.engine.close()
        self.strict.close()

    def put(self, mutant: Mutant) -> LogFile:
        """Let `mutant` be the other log of the root."""
        if self._place is not None:
            shutil.rmtree(self._place)
        self._place = self.root / project_folder_name("/srv/m") / "mutant"
        self._place.mkdir(parents=True)
        path = self._place / mutant.name
        path.write_bytes(mutant.content)
        self._stamp += 1_000_000_000
        os.utime(path, ns=(self._stamp, self._stamp))
        return LogFile.at(os.fspath(path))

    def run(self, mutant: Mutant) -> None:
        """Put a mutant through everything. Raises AssertionError, `Hang`, or whatever broke."""
        file = self.put(mutant)
        log_id = self._listed(file)
        self._opened(file, mutant)
        if log_id is not None:
            self._read(log_id)
            self._exported(log_id)
        self._rescued(file)
        claims = log_id == HEALTHY
        for now, before in zip(self._neighbour(listed=not claims), self.baseline):
            assert now == before, f"the neighbour's answer changed: {now}"
        self._strict(log_id)

    # tolerant -----------------------------------------------------------------------------------------------------

    def _neighbour(self, *, listed: bool = True) -> list[str]:
        """Every answer about the healthy log; hits without their order, since ranks depend on what else there is.

        `listed`: at the end the two rows by which it is listed, which tell when another log claims its id.
        """
        engine = self.engine
        with bounded():
            found = engine.search_sessions(WORD).items
        with bounded():
            hits = engine.search_events(HEALTHY, WORD).items
        mine = sorted(map(repr, hits)) + [repr(hit.header) for hit in found if hit.header.id == HEALTHY]
        with bounded():
            mine.append(repr(engine.read_session(HEALTHY)))
            mine.append(repr(engine.list_events(HEALTHY)))
            mine.append(repr(engine.filter_events(HEALTHY, [{"kind": "text", "text": WORD}])))
            mine.append(repr(engine.read_surface(HEALTHY)))
            mine.append(repr(engine.read_title(HEALTHY)))
            with engine.open_log(HEALTHY).closing() as log:
                log.load()
                mine.append(repr([log.record(index) for index in range(len(log))]))
        if listed:
            with bounded():
                mine += [repr(record) for record in engine.list_sessions() if record.header.id == HEALTHY]
                mine += [repr(item) for item in engine.sessions() if item.path and HEALTHY in item.path]
        return mine

    def _listed(self, file: LogFile) -> str | None:
        """The mutant is in every list with a reason or an id; the id of it."""
        with bounded():
            rows = {row.path: row for row in self.engine.sessions()}
        assert file.path in rows, "the log is not listed"
        mine = rows[file.path]
        assert mine.header is not None or mine.reason, "no reason is given"
        with bounded():
            done = self.engine.refresh()
        assert file.path in {*done.added, *done.changed, *done.failed}, "the log was not indexed"
        with bounded():
            again = {row.path: row for row in self.engine.sessions()}[file.path]
        assert again.reason == mine.reason
        if mine.header is None:
            return again.id  # of what was indexed before under this name, if anything was
        # The index holds U+FFFD for lone surrogates.
        assert (again.id, again.header) == (well_formed(mine.id), _well_formed(mine.header))
        return mine.id

    def _opened(self, file: LogFile, mutant: Mutant) -> None:
        with bounded(), OpenLog.start(file, config=TOLERANT).closing() as log:
            log.load()
            counted = _rows_in(mutant, headless=log.header is None)
            assert counted is None or log.rows_shown + log.rows_withheld == counted, "a row is missing"
            lines: Counter[bytes] = Counter()
            places = set()
            seqs = []
            events = []
            for index in range(len(log)):
                line = log.row(index)
                event = log.event(index)
                events.append(event)
                label, text = gist(event, 80)
                assert label
                assert "\n" not in text
                assert repr((session_links(event), attachments_of(event), speaker_of(event), usage_of(event)))
                if line.flags & Flag.SYNTHETIC:
                    continue
                offset = log.table.offsets[index]
                if offset not in places:
                    places.add(offset)
                    lines[log.raw(index)] += 1
                if not line.flags & Flag.WITHHELD:
                    seqs.append(line.seq)
                    assert event.seq == index == line.seq
                    assert (event.type, event.time) == (line.type, line.time)
            assert len(places) == log.rows_shown + log.rows_withheld
            assert seqs == list(range(len(seqs)))
            if mutant.text is not None and counted:
                assert lines == Counter(_lines_of(mutant.text)[0 if log.header is None else 1 :])
            missing = Counter(line.removesuffix(b"\n") for line in mutant.intact) - lines
            assert not missing, f"{missing.total()} lines of sound frames are lost: {next(iter(missing))[:200]!r}"
            log.boundaries()
            log.turns()
            for index in range(0, len(log), 1 + len(log) // 7):
                log.surface_at(index)
                log.record(index)
            for seq in range(0, len(seqs), 1 + len(seqs) // 7):
                log.replacement_chain(seq), log.sources(seq), log.cited_by(seq), log.replaces(seq)
            assert repr(log.findings)
            assert log.grow().count == 0
            self._looked_behind(log, events)
            assert statistics_of(file.path, TOLERANT) is None or log.header is not None

    def _looked_behind(self, log: OpenLog, events: list[Event]) -> None:
        look = second_look(log.table, log.findings)
        assert (look is None) == (log.rows_withheld == 0)
        if look is not None:
            assert look.finding is not None, "nothing tells why rows are withheld"
            assert look.stop - look.refused == log.rows_withheld
            for index in range(look.refused, look.stop, 1 + log.rows_withheld // 9):
                look.lane(index)
                look.twin(index)
        index = CompactionIndex()
        for event in events:
            index.push(event)
        surface = [events[at] for seq in log.fold.surface if (at := log.index_of_seq(seq)) is not None]
        for compaction in index.compactions[:5]:
            removed = [events[at] for seq in compaction.shadowed if (at := log.index_of_seq(seq)) is not None]
            assert repr(forgotten(removed, surface))
        counts = self.engine.row_counts(log.file.path)
        assert (counts.shown, counts.withheld) == (log.rows_shown, log.rows_withheld)

    def _read(self, log_id: str) -> None:
        engine = self.engine
        calls = [
            lambda: engine.lineage(log_id),
            lambda: engine.read_session(log_id),
            lambda: engine.list_events(log_id),
            lambda: engine.filter_events(log_id, []),
            lambda: engine.filter_events(log_id, [{"kind": "text", "text": "a"}]),
            lambda: engine.read_surface(log_id),
            lambda: engine.read_event(log_id, 3, 2, 2),
            lambda: engine.trace_event(log_id, 2),
            lambda: engine.read_title_snapshots([log_id, HEALTHY]),
            lambda: engine.trace_session(log_id),
            lambda: engine.search_events(log_id, "the"),
            lambda: engine.resolve_id(log_id),
            lambda: engine.logs_of(log_id),
            lambda: engine.health(),
            lambda: list(engine.scan_text("the")),
        ]
        for call in calls:
            with bounded():
                try:
                    repr(call())
                except SessionQueryError:
                    continue

    def _exported(self, log_id: str) -> None:
        shutil.rmtree(self.out)
        self.out.mkdir()
        with bounded():
            try:
                plan = self.engine.plan_export(log_id)
                self.engine.export(plan, self.out / "all.zip", allow_missing=True)
            except (SessionQueryError, ExportError):
                pass
        for form in Form:
            with bounded():
                try:
                    self.engine.transcript(log_id, self.out / f"told.{form}", form, everything=form is Form.JSONL)
                except (SessionQueryError, ExportError):
                    continue

    def _rescued(self, file: LogFile) -> None:
        with bounded():
            try:
                told = rescue(file, self.out / "rescued", config=TOLERANT)
                done = rescue(file, self.out / "rescued", config=TOLERANT, write=True)
            except SessionQueryError:
                return
        assert replace(told, written=True) == done
        with bounded():
            before = read_log(file, config=TOLERANT)
            after = read_log(LogFile.at(done.path), config=TOLERANT)
        assert _told(after.events) == _told(before.events)
        assert after.withheld_rows == 0
        if done.generation == 0 and done.refused is None:
            # What was not refused beforehand is taken.
            config = replace(STRICT, compression="zstd" if done.path.endswith(".zstd") else "none")
            with bounded():
                session_log(observed_log(read_log(LogFile.at(done.path), config=config), strict=True))

    # strict -------------------------------------------------------------------------------------------------------

    def _strict(self, log_id: str | None) -> None:
        engine = self.strict
        calls: list[Any] = [engine.list_sessions, lambda: engine.search_sessions(WORD), engine.refresh]
        if log_id is not None:
            calls += [
                lambda: engine.read_session(log_id),
                lambda: engine.list_events(log_id),
                lambda: engine.filter_events(log_id, [{"kind": "text", "text": "a"}]),
                lambda: engine.read_surface(log_id),
                lambda: engine.read_event(log_id, 3, 2, 2),
                lambda: engine.trace_event(log_id, 2),
                lambda: engine.read_title(log_id),
                lambda: engine.trace_session(log_id),
                lambda: engine.search_events(log_id, "the"),
            ]
        for call in calls:
            with bounded():
                try:
                    repr(call())
                except SessionQueryError:
                    continue


def _told(events: list[Event]) -> str:
    """Events to compare; whether a zero has a sign or a point (`-0`, `1e-999`) is not promised."""
    return re.sub(r"(?<![\w.])-?0\.0(?![\w.])", "0", repr(events))


def _well_formed(header: Header) -> Header:
    told = {name: getattr(header, name) for name in header.__struct_fields__}
    return Header(**{name: well_formed(value) if isinstance(value, str) else value for name, value in told.items()})


def _lines_of(text: bytes) -> list[bytes]:
    return text.removesuffix(b"\n").split(b"\n") if text else []


def _rows_in(mutant: Mutant, *, headless: bool) -> int | None:
    """Lines behind the header (all, where there is none), counted without the engine; None where nobody can say."""
    if mutant.text is None:
        return None
    return len(_lines_of(mutant.text)) - (0 if headless else 1)


__all__ = ["HEALTHY", "Hang", "LogChanged", "Trial", "bounded"]
