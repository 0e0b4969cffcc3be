"""Transcripts of one session: Markdown, HTML, or JSON Lines of its events (export contract, "For people and tools")."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from palimpsest_core.base.cancel import CancelToken, check
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_core.base.jsjson import js_json
from palimpsest_core.base.progress import Progress, ProgressSink
from palimpsest_core.export import html, markdown
from palimpsest_core.export.errors import ExportError, ExportErrorCode
from palimpsest_core.export.names import safe
from palimpsest_core.export.page import Page
from palimpsest_core.export.redact import Redactor
from palimpsest_core.export.story import Story
from palimpsest_core.model.config import Config
from palimpsest_core.model.event import event_json
from palimpsest_core.model.finding import Finding
from palimpsest_core.model.jsonable import Record, to_json
from palimpsest_core.storage.atomic import new_file
from palimpsest_core.storage.layout import LogFile


class Form(StrEnum):
    """The forms of a transcript."""

    MARKDOWN = "markdown"
    HTML = "html"
    JSONL = "jsonl"


_ENDS = {Form.MARKDOWN: "md", Form.HTML: "html", Form.JSONL: "jsonl"}


class TranscriptResult(Record, frozen=True):
    """A finished transcript: where it is, its size, how many events it tells, what was replaced, what is odd."""

    path: str
    bytes: int
    events: int
    redacted: dict[str, int]
    findings: list[Finding]


def transcript_name(session_id: str, form: Form) -> str:
    """The file name of a transcript."""
    return f"dsh-session-{safe(session_id)}.{_ENDS[form]}"


def write_transcript(
    file: LogFile,
    target: Path,
    form: Form,
    *,
    config: Config,
    everything: bool = False,
    redact_secrets: bool = False,
    redact_home: bool = False,
    attachments: Path | None = None,
    overwrite: bool = False,
    cancel: CancelToken | None = None,
    progress: ProgressSink | None = None,
) -> TranscriptResult:
    """Write the transcript of a log to `target`.

    The current surface in model order, or with `everything` each event in log order with its surface. `attachments` is
    the store whose images go into HTML. Progress counts events. Raises `PERSISTENCE_FAILED` for a log that cannot be
    read at all, `ABORTED`, and `ExportError` (`TARGET_EXISTS`, `TARGET_UNWRITABLE`).
    """
    try:
        story = Story(file, config, cancel)
    except (OSError, ValueError) as error:
        raise SessionQueryError(
            ErrorCode.PERSISTENCE_FAILED, f"The log {file.path} cannot be read: {error}."
        ) from error
    redactor = Redactor(secrets=redact_secrets, home=redact_home) if redact_secrets or redact_home else None
    page = Page(story, everything, redactor, cancel, attachments)
    page.learn()
    pieces = {Form.MARKDOWN: markdown.render, Form.HTML: html.render, Form.JSONL: _lines}[form](page)
    total = story.facts.events if everything else story.facts.current
    try:
        with new_file(target, overwrite=overwrite) as out:
            for number, piece in enumerate(pieces):
                check(cancel)
                out.write(piece.encode("utf-8", "replace"))
                if progress is not None:
                    progress(Progress(min(number, total), total, "events"))
    except FileExistsError as error:
        raise ExportError(
            ExportErrorCode.TARGET_EXISTS, f"{target} exists already; choose another name or allow overwriting."
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExportError(ExportErrorCode.TARGET_UNWRITABLE, f"{target} cannot be written: {reason}.") from error
    counts = dict(redactor.counts) if redactor is not None else {}
    return TranscriptResult(os.fspath(target), os.stat(target).st_size, total, counts, story.facts.findings)


def _lines(page: Page) -> Iterator[str]:
    """The header, then one line for each event: its keys in the log's order, with its surface."""
    clean = page.redactor.value if page.redactor is not None else _as_it_is
    yield js_json(clean({"type": "session", **to_json(page.story.facts.header)})) + "\n"
    for event in page.story.events(everything=page.everything, cancel=page.cancel):
        row = {**event_json(event), "surface": page.story.fold.kind(event.seq).value}
        if event.synthetic:
            row["synthetic"] = True
        yield js_json(clean(row)) + "\n"


def _as_it_is(value: Any) -> Any:
    return value
