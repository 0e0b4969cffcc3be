"""What the package promises to others: its names and its error codes."""

from __future__ import annotations

import ast
import importlib
import re

from house import CORE, TUI, named, sources, tree_of

from palimpsest_core.base.errors import ErrorCode

CODES = [
    *("ABORTED", "CORRUPT_SESSION", "EVENT_NOT_FOUND", "INDEX_FAILED", "INVALID_CONFIG", "INVALID_CURSOR"),
    *("INVALID_FILTER", "INVALID_LIMIT", "INVALID_QUERY", "INVALID_LINEAGE", "INVALID_SURFACE", "INVALID_WINDOW"),
    *("PERSISTENCE_FAILED", "SEARCH_DISABLED", "SESSION_NOT_FOUND", "STALE_CURSOR", "SOURCE_CONFLICT"),
]


EXPORTED = """
Ailment Attachment BOUNDARY CancelToken Config Counts Engine ErrorCode Event EventDocument EventHit EventPage
EventRecord EventTable EventTrace EventWindow ExportError ExportErrorCode ExportPlan ExportResult Filter
Finding FindingCode FirstLook Flag Form Gist Growth Header IndexStatus JsonlStore LABELS LANE_FIRST LANE_NONE
LANE_SECOND Lineage LineageNode LiveSession LogFile LogHealth Mark Matcher MissingImage NotALog OpenLog
PlannedImage PlannedLog Progress ProgressSink Refresh Refusal Registry Remedy Rescue Row RowCounts SURFACE_OF
SearchClient SecondLook SessionHit SessionLink SessionLog SessionPage SessionQueryError SessionRecord SessionState
SessionStatistics SessionStore SessionSummary SessionTrace SettledTitle Speaker Step Surface SurfaceSnapshot
Target Title TitleSnapshot Tokens ToolCall ToolResult TranscriptResult Turn Usage Watcher WriteRefused
ailment_of attachments_of call_of content_blocks default_index_path escaped event_json first_look full_text gist
index_path is_checkpoint
is_human_prompt literal_pattern message_id opened_target parse_config printable printable_line registry_for
second_look semantic_text session_links source_of speaker_of statistics_of to_json tool_calls tool_result
transcript_name usage_of
"""


def test_error_codes_are_the_closed_set() -> None:
    assert sorted(code.value for code in ErrorCode) == sorted("SESSION_QUERY_" + name for name in CODES)
    assert all(code.value == "SESSION_QUERY_" + code.name for code in ErrorCode)


def test_no_code_is_spelled_out_as_text_where_an_enum_belongs() -> None:
    known = {code.value for code in ErrorCode}
    found = [
        f"{named(path)}:{node.lineno} {node.value}"
        for path in (*sources(CORE), *sources(TUI))
        if path.name != "errors.py"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Constant) and node.value in known
    ]
    assert found == []


def test_the_facade_exports_exactly_what_others_may_rely_on() -> None:
    facade = importlib.import_module("palimpsest_core")
    assert sorted(facade.__all__) == EXPORTED.split(), (
        "a name comes or goes on purpose: write it down here, and why there"
    )
    assert [name for name in facade.__all__ if not hasattr(facade, name)] == []


def test_every_record_of_the_facade_is_documented() -> None:
    facade = importlib.import_module("palimpsest_core")
    silent = [
        name
        for name in facade.__all__
        if isinstance(value := getattr(facade, name), type) and not re.sub(r"\s", "", value.__doc__ or "")
    ]
    assert silent == []
