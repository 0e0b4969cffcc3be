"""Who may know whom, beyond what import-linter checks: what loads when something is imported."""

from __future__ import annotations

import ast
import re

from house import CLI, CORE, TUI, imports_of, loaded_by, module_name, named, sources, tree_of

TERMINAL = {"textual", "rich", "asyncio"}


def test_core_names_no_terminal_library_anywhere() -> None:
    guilty = {
        named(path): sorted(hit)
        for path in sources(CORE)
        if (hit := {name for name in imports_of(path) if name.partition(".")[0] in TERMINAL})
    }
    assert guilty == {}


def test_importing_the_engine_loads_no_terminal_library_and_no_mcp() -> None:
    assert loaded_by("import palimpsest_core") & (TERMINAL | {"mcp", "anyio"}) == set()


def test_importing_every_command_loads_no_textual() -> None:
    lines = "\n".join(f"import {module_name(path)}" for path in sources(CLI))
    assert loaded_by(lines) & {"textual", "mcp", "asyncio"} == set()


def test_starting_the_command_line_loads_neither_the_engine_nor_a_command() -> None:
    loaded = loaded_by("import palimpsest_tui.cli.main")
    assert loaded & {"palimpsest_core", "textual", "rich", "apsw", "asyncio"} == set()


def test_no_command_imports_textual_itself() -> None:
    guilty = [named(p) for p in sources(CLI) if any(name.partition(".")[0] == "textual" for name in imports_of(p))]
    assert guilty == []


def test_the_app_and_the_commands_know_the_engine_by_its_facade() -> None:
    names = ("model", "base", "batch", "tools", "writer.demo")
    allowed = tuple(f"palimpsest_core.{name}" for name in names)
    guilty = {}
    for path in sources(TUI):
        deep = {
            node.module
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.startswith("palimpsest_core.")
            and not node.module.startswith(allowed)
        }
        if deep:
            guilty[named(path)] = sorted(deep)
    assert guilty == {}


def test_only_output_py_writes_to_stdout() -> None:
    # These are processes that another program talks to: that is their protocol, and no screen.
    allowed = {
        "tui/palimpsest_tui/cli/output.py",
        "core/palimpsest_core/sync/indexer.py",
        "core/palimpsest_core/sync/searchworker.py",
        "core/palimpsest_core/batch/__main__.py",
    }
    guilty = []
    for path in (*sources(CORE), *sources(TUI)):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in {"print", "click.echo", "click.secho"} or re.search(
                    r"sys\.stdout\b(?!\.(isatty|flush)$)", called
                ):
                    guilty.append(f"{named(path)}:{node.lineno} {called}")
    assert [line for line in guilty if line.partition(":")[0] not in allowed] == []
