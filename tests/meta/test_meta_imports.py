"""Who may know whom, beyond what import-linter checks: what loads when something is imported."""

from __future__ import annotations

import ast

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
    allowed = ("palimpsest_core.model", "palimpsest_core.base", "palimpsest_core.batch", "palimpsest_core.tools")
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
    # The indexer reports to the process that started it; that is its protocol, and no screen.
    allowed = {"tui/palimpsest_tui/cli/output.py", "core/palimpsest_core/sync/indexer.py"}
    guilty = []
    for path in (*sources(CORE), *sources(TUI)):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in {"print", "click.echo", "click.secho"} or "sys.stdout" in called:
                    guilty.append(f"{named(path)}:{node.lineno} {called}")
    assert [line for line in guilty if line.partition(":")[0] not in allowed] == []
