"""Palimpsest's engine: reads, searches, traces and exports session logs. Everything public is exported here.

    from palimpsest_core import Engine

    with Engine(Path("~/.dsh/sessions").expanduser()) as engine:
        engine.refresh()
        for hit in engine.search_sessions("the phrase").items:
            print(hit.header.id, hit.best_match.snippet)

Names are loaded when they are first used, so that importing this package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palimpsest_core.base.cancel import CancelToken
    from palimpsest_core.base.casefold import literal_pattern
    from palimpsest_core.base.errors import ErrorCode, SessionQueryError
    from palimpsest_core.base.printable import escaped, printable, printable_line
    from palimpsest_core.base.progress import Progress, ProgressSink
    from palimpsest_core.engine import Engine
    from palimpsest_core.export.errors import ExportError, ExportErrorCode
    from palimpsest_core.export.plan import ExportPlan, MissingImage, PlannedImage, PlannedLog
    from palimpsest_core.export.reopen import NotALog, Target, opened_target
    from palimpsest_core.export.transcript import Form, TranscriptResult, transcript_name
    from palimpsest_core.export.zip import ExportResult
    from palimpsest_core.live.store import LiveSession, SessionStore
    from palimpsest_core.log.gist import LABELS, Gist, gist
    from palimpsest_core.log.links import SessionLink, session_links
    from palimpsest_core.log.messages import (
        Attachment,
        ToolCall,
        ToolResult,
        attachments_of,
        call_of,
        content_blocks,
        is_checkpoint,
        is_human_prompt,
        message_id,
        source_of,
        speaker_of,
        tool_calls,
        tool_result,
    )
    from palimpsest_core.log.text import Registry, full_text, registry_for, semantic_text
    from palimpsest_core.log.turns import Step, Turn
    from palimpsest_core.log.usage import Usage, usage_of
    from palimpsest_core.model.config import Config, parse_config
    from palimpsest_core.model.event import (
        Event,
        EventDocument,
        EventRecord,
        EventTrace,
        EventWindow,
        Surface,
        event_json,
    )
    from palimpsest_core.model.finding import Finding, FindingCode
    from palimpsest_core.model.header import Header
    from palimpsest_core.model.health import Ailment, LogHealth, Remedy, RowCounts, ailment_of
    from palimpsest_core.model.jsonable import to_json
    from palimpsest_core.model.search import (
        EventHit,
        EventPage,
        Filter,
        SessionHit,
        SessionPage,
    )
    from palimpsest_core.model.session import (
        Lineage,
        LineageNode,
        SessionLog,
        SessionRecord,
        SessionState,
        SessionSummary,
        SessionTrace,
        SettledTitle,
        Speaker,
        SurfaceSnapshot,
        Title,
        TitleSnapshot,
    )
    from palimpsest_core.model.statistics import Counts, SessionStatistics, Tokens
    from palimpsest_core.query.openlog import Growth, OpenLog
    from palimpsest_core.query.secondlook import LANE_FIRST, LANE_NONE, LANE_SECOND, SecondLook, second_look
    from palimpsest_core.query.statistics import statistics_of
    from palimpsest_core.query.table import (
        BOUNDARY,
        SURFACE_OF,
        EventTable,
        Flag,
        Mark,
        Row,
    )
    from palimpsest_core.search.fts5.firstlook import FirstLook, first_look
    from palimpsest_core.search.matching import Matcher
    from palimpsest_core.search.place import default_index_path, index_path
    from palimpsest_core.storage.layout import LogFile
    from palimpsest_core.sync.reconcile import Refresh
    from palimpsest_core.sync.searchclient import SearchClient
    from palimpsest_core.sync.service import IndexStatus
    from palimpsest_core.sync.watcher import Watcher
    from palimpsest_core.writer.errors import Refusal, WriteRefused
    from palimpsest_core.writer.rescue import Rescue
    from palimpsest_core.writer.store import JsonlStore

_HOMES: dict[str, str] = {
    "Ailment": "palimpsest_core.model.health",
    "Attachment": "palimpsest_core.log.messages",
    "BOUNDARY": "palimpsest_core.query.table",
    "CancelToken": "palimpsest_core.base.cancel",
    "Config": "palimpsest_core.model.config",
    "Counts": "palimpsest_core.model.statistics",
    "Engine": "palimpsest_core.engine",
    "ErrorCode": "palimpsest_core.base.errors",
    "Event": "palimpsest_core.model.event",
    "EventDocument": "palimpsest_core.model.event",
    "EventHit": "palimpsest_core.model.search",
    "EventPage": "palimpsest_core.model.search",
    "EventRecord": "palimpsest_core.model.event",
    "EventTable": "palimpsest_core.query.table",
    "EventTrace": "palimpsest_core.model.event",
    "EventWindow": "palimpsest_core.model.event",
    "ExportError": "palimpsest_core.export.errors",
    "ExportErrorCode": "palimpsest_core.export.errors",
    "ExportPlan": "palimpsest_core.export.plan",
    "ExportResult": "palimpsest_core.export.zip",
    "Filter": "palimpsest_core.model.search",
    "Finding": "palimpsest_core.model.finding",
    "FindingCode": "palimpsest_core.model.finding",
    "FirstLook": "palimpsest_core.search.fts5.firstlook",
    "Flag": "palimpsest_core.query.table",
    "Form": "palimpsest_core.export.transcript",
    "Gist": "palimpsest_core.log.gist",
    "Growth": "palimpsest_core.query.openlog",
    "Header": "palimpsest_core.model.header",
    "IndexStatus": "palimpsest_core.sync.service",
    "JsonlStore": "palimpsest_core.writer.store",
    "LABELS": "palimpsest_core.log.gist",
    "LANE_FIRST": "palimpsest_core.query.secondlook",
    "LANE_NONE": "palimpsest_core.query.secondlook",
    "LANE_SECOND": "palimpsest_core.query.secondlook",
    "Lineage": "palimpsest_core.model.session",
    "LineageNode": "palimpsest_core.model.session",
    "LiveSession": "palimpsest_core.live.store",
    "LogFile": "palimpsest_core.storage.layout",
    "LogHealth": "palimpsest_core.model.health",
    "Mark": "palimpsest_core.query.table",
    "Matcher": "palimpsest_core.search.matching",
    "MissingImage": "palimpsest_core.export.plan",
    "NotALog": "palimpsest_core.export.reopen",
    "OpenLog": "palimpsest_core.query.openlog",
    "PlannedImage": "palimpsest_core.export.plan",
    "PlannedLog": "palimpsest_core.export.plan",
    "Progress": "palimpsest_core.base.progress",
    "ProgressSink": "palimpsest_core.base.progress",
    "Refresh": "palimpsest_core.sync.reconcile",
    "Refusal": "palimpsest_core.writer.errors",
    "Registry": "palimpsest_core.log.text",
    "Remedy": "palimpsest_core.model.health",
    "Rescue": "palimpsest_core.writer.rescue",
    "Row": "palimpsest_core.query.table",
    "RowCounts": "palimpsest_core.model.health",
    "SURFACE_OF": "palimpsest_core.query.table",
    "SecondLook": "palimpsest_core.query.secondlook",
    "SearchClient": "palimpsest_core.sync.searchclient",
    "SessionHit": "palimpsest_core.model.search",
    "SessionLink": "palimpsest_core.log.links",
    "SessionLog": "palimpsest_core.model.session",
    "SessionPage": "palimpsest_core.model.search",
    "SessionQueryError": "palimpsest_core.base.errors",
    "SessionRecord": "palimpsest_core.model.session",
    "SessionState": "palimpsest_core.model.session",
    "SessionStatistics": "palimpsest_core.model.statistics",
    "SessionStore": "palimpsest_core.live.store",
    "SessionSummary": "palimpsest_core.model.session",
    "SessionTrace": "palimpsest_core.model.session",
    "SettledTitle": "palimpsest_core.model.session",
    "Speaker": "palimpsest_core.model.session",
    "Step": "palimpsest_core.log.turns",
    "Surface": "palimpsest_core.model.event",
    "SurfaceSnapshot": "palimpsest_core.model.session",
    "Target": "palimpsest_core.export.reopen",
    "Title": "palimpsest_core.model.session",
    "TitleSnapshot": "palimpsest_core.model.session",
    "Tokens": "palimpsest_core.model.statistics",
    "ToolCall": "palimpsest_core.log.messages",
    "ToolResult": "palimpsest_core.log.messages",
    "TranscriptResult": "palimpsest_core.export.transcript",
    "Turn": "palimpsest_core.log.turns",
    "Usage": "palimpsest_core.log.usage",
    "Watcher": "palimpsest_core.sync.watcher",
    "WriteRefused": "palimpsest_core.writer.errors",
    "ailment_of": "palimpsest_core.model.health",
    "attachments_of": "palimpsest_core.log.messages",
    "call_of": "palimpsest_core.log.messages",
    "content_blocks": "palimpsest_core.log.messages",
    "default_index_path": "palimpsest_core.search.place",
    "escaped": "palimpsest_core.base.printable",
    "event_json": "palimpsest_core.model.event",
    "first_look": "palimpsest_core.search.fts5.firstlook",
    "full_text": "palimpsest_core.log.text",
    "gist": "palimpsest_core.log.gist",
    "index_path": "palimpsest_core.search.place",
    "is_checkpoint": "palimpsest_core.log.messages",
    "is_human_prompt": "palimpsest_core.log.messages",
    "literal_pattern": "palimpsest_core.base.casefold",
    "message_id": "palimpsest_core.log.messages",
    "opened_target": "palimpsest_core.export.reopen",
    "parse_config": "palimpsest_core.model.config",
    "printable": "palimpsest_core.base.printable",
    "printable_line": "palimpsest_core.base.printable",
    "registry_for": "palimpsest_core.log.text",
    "second_look": "palimpsest_core.query.secondlook",
    "semantic_text": "palimpsest_core.log.text",
    "session_links": "palimpsest_core.log.links",
    "source_of": "palimpsest_core.log.messages",
    "speaker_of": "palimpsest_core.log.messages",
    "statistics_of": "palimpsest_core.query.statistics",
    "to_json": "palimpsest_core.model.jsonable",
    "tool_calls": "palimpsest_core.log.messages",
    "tool_result": "palimpsest_core.log.messages",
    "transcript_name": "palimpsest_core.export.transcript",
    "usage_of": "palimpsest_core.log.usage",
}
"""Where each public name lives."""


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


# In plain order, which a test checks.
__all__ = [  # noqa: RUF022
    "Ailment",
    "Attachment",
    "BOUNDARY",
    "CancelToken",
    "Config",
    "Counts",
    "Engine",
    "ErrorCode",
    "Event",
    "EventDocument",
    "EventHit",
    "EventPage",
    "EventRecord",
    "EventTable",
    "EventTrace",
    "EventWindow",
    "ExportError",
    "ExportErrorCode",
    "ExportPlan",
    "ExportResult",
    "Filter",
    "Finding",
    "FindingCode",
    "FirstLook",
    "Flag",
    "Form",
    "Gist",
    "Growth",
    "Header",
    "IndexStatus",
    "JsonlStore",
    "LABELS",
    "LANE_FIRST",
    "LANE_NONE",
    "LANE_SECOND",
    "Lineage",
    "LineageNode",
    "LiveSession",
    "LogFile",
    "LogHealth",
    "Mark",
    "Matcher",
    "MissingImage",
    "NotALog",
    "OpenLog",
    "PlannedImage",
    "PlannedLog",
    "Progress",
    "ProgressSink",
    "Refresh",
    "Refusal",
    "Registry",
    "Remedy",
    "Rescue",
    "Row",
    "RowCounts",
    "SURFACE_OF",
    "SecondLook",
    "SearchClient",
    "SessionHit",
    "SessionLink",
    "SessionLog",
    "SessionPage",
    "SessionQueryError",
    "SessionRecord",
    "SessionState",
    "SessionStatistics",
    "SessionStore",
    "SessionSummary",
    "SessionTrace",
    "SettledTitle",
    "Speaker",
    "Step",
    "Surface",
    "SurfaceSnapshot",
    "Target",
    "Title",
    "TitleSnapshot",
    "Tokens",
    "ToolCall",
    "ToolResult",
    "TranscriptResult",
    "Turn",
    "Usage",
    "Watcher",
    "WriteRefused",
    "ailment_of",
    "attachments_of",
    "call_of",
    "content_blocks",
    "default_index_path",
    "escaped",
    "event_json",
    "first_look",
    "full_text",
    "gist",
    "index_path",
    "is_checkpoint",
    "is_human_prompt",
    "literal_pattern",
    "message_id",
    "opened_target",
    "parse_config",
    "printable",
    "printable_line",
    "registry_for",
    "second_look",
    "semantic_text",
    "session_links",
    "source_of",
    "speaker_of",
    "statistics_of",
    "to_json",
    "tool_calls",
    "tool_result",
    "transcript_name",
    "usage_of",
]
