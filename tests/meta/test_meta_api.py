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


def test_the_facade_exports_exactly_what_it_lists() -> None:
    facade = importlib.import_module("palimpsest_core")
    listed = list(facade.__all__)
    assert listed == sorted(set(listed), key=lambda name: (name.startswith("_"), name)), "sorted, each once"
    assert [name for name in listed if not hasattr(facade, name)] == []
    assert {"Engine", "ErrorCode", "SessionQueryError", "CancelToken", "Config"} <= set(listed)


def test_every_record_of_the_facade_is_documented() -> None:
    facade = importlib.import_module("palimpsest_core")
    silent = [
        name
        for name in facade.__all__
        if isinstance(value := getattr(facade, name), type) and not re.sub(r"\s", "", value.__doc__ or "")
    ]
    assert silent == []
