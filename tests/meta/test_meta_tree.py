"""The look of the tree: sizes, docstrings, and nothing that belongs to one machine."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from house import CORE, TOP, TUI, named, sources, tree_of

MOST_LINES = 450
"""A file tells one story: about 400 lines are the aim, this is where the wall stands."""

# Written so that this file does not find itself.
MACHINE = re.compile(r"(?<![\w.])/(w[o]rk|f[a]rm)/|/tm[p]/venv|https?://[^\s\"]*/(simple|registry)/")
HOSTS = re.compile(r"pypi\.or[g]|pythonhosted\.or[g]|registry\.np[m]js|files\.pythonhoste[d]")
TEXT = {".py", ".md", ".toml", ".tcss", ".sh", ".json", ".yml", ".yaml", ".mjs", ".txt", ".cfg", ".ini"}


def test_no_source_file_is_too_long() -> None:
    long = {
        named(p): n for p in (*sources(CORE), *sources(TUI)) if (n := p.read_text("utf-8").count("\n")) > MOST_LINES
    }
    assert long == {}


def tracked() -> list[Path]:
    """Every text file that git tracks, or every one there is where git is not at hand."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True, check=False)
    names = done.stdout.split("\0") if done.returncode == 0 else [str(p.relative_to(TOP)) for p in TOP.rglob("*")]
    files = [TOP / name for name in names if name]
    return [path for path in files if path.is_file() and (path.suffix in TEXT or path.name == "run")]


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = []
    for path in tracked():
        text = path.read_text("utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE.search(line) or HOSTS.search(line):
                found.append(f"{named(path)}:{number} {line.strip()[:80]}")
    assert found == []


def test_constraints_hold_names_and_versions_only() -> None:
    lines = (TOP / "constraints.txt").read_text("utf-8").splitlines()
    wrong = [
        line for line in lines if line and not line.startswith("#") and not re.fullmatch(r"[a-z0-9._-]+==[\w.]+", line)
    ]
    assert wrong == []


def test_every_dependency_has_a_tested_version() -> None:
    import tomllib

    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(item for extra in project["optional-dependencies"].values() for item in extra),
    ]
    names = {re.split(r"[\s<>=!\[;~]", item)[0].lower() for item in wanted}
    pinned = {
        line.partition("==")[0] for line in (TOP / "constraints.txt").read_text("utf-8").splitlines() if "==" in line
    }
    assert names - pinned - {"dsh-palimpsest"} == set()


def public_without_docstring(path: Path) -> Iterator[str]:
    """Modules, classes, functions and methods that others may use and that say nothing about themselves."""
    tree = tree_of(path)
    if ast.get_docstring(tree) is None and tree.body:
        yield named(path)

    def walk(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[str]:
        for child in node.body:
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if child.name.startswith("_") or is_override(child):
                    continue
                if ast.get_docstring(child) is None:
                    yield f"{named(path)}:{child.lineno} {prefix}{child.name}"
                if isinstance(child, ast.ClassDef):
                    yield from walk(child, f"{child.name}.")

    yield from walk(tree, "")


# What Textual or click calls by name: the framework's own documentation says what these do.
FRAMEWORK = re.compile(
    r"on_\w+|action_\w+|check_action|watch_\w+|validate_\w+|compute_\w+|compose|render\w*|get_(content|command|default|line)\w*|"
    r"list_commands|resolve_command|search|discover|notify_style_update|allow_\w+|key_\w+|convert|invoke|parse_args"
)


def is_override(node: ast.AST) -> bool:
    """Whether the story of a function is told elsewhere: an overload, an override, or a framework's hook."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in node.decorator_list}
    return bool(marks & {"overload", "override"}) or any(mark.startswith("setter") for mark in marks)


def test_everything_public_in_core_says_what_it_is() -> None:
    assert [line for path in sources(CORE) for line in public_without_docstring(path)] == []


def test_everything_public_in_the_app_says_what_it_is() -> None:
    silent = [line for path in sources(TUI) for line in public_without_docstring(path)]
    assert [line for line in silent if not FRAMEWORK.fullmatch(re.split(r"[ .]", line)[-1])] == []


def test_nothing_is_left_for_later() -> None:
    marks = re.compile(r"#.*\b(TO[D]O|FIXM[E]|XX[X]|HAC[K])\b")
    left = [
        f"{named(path)}:{number}"
        for path in (*sources(CORE), *sources(TUI), *sources(TOP / "tests"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if marks.search(line) or (path.is_relative_to(CORE) and "NotImplementedError" in line)
    ]
    assert left == []
