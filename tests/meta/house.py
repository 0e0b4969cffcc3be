"""What the meta tests share: where things are, and every source file parsed once."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
CORE = TOP / "core" / "palimpsest_core"
TUI = TOP / "tui" / "palimpsest_tui"
CLI = TUI / "cli"


@functools.cache
def sources(under: Path) -> tuple[Path, ...]:
    """Every Python file below a folder, in a stable order."""
    return tuple(sorted(path for path in under.rglob("*.py") if "__pycache__" not in path.parts))


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def named(path: Path) -> str:
    """A file's name as a reader would say it."""
    return str(path.relative_to(TOP))


def module_name(path: Path) -> str:
    """The dotted name a source file is imported by."""
    base = CORE.parent if path.is_relative_to(CORE) else TUI.parent
    parts = path.relative_to(base).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> set[str]:
    """Every module a file imports, anywhere in it (also inside functions)."""
    found: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def loaded_by(statement: str) -> set[str]:
    """The top-level packages in `sys.modules` after `statement` ran in a fresh interpreter."""
    script = f"{statement}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    paths = f"import sys; sys.path[:0] = {[str(CORE.parent), str(TUI.parent)]!r}\n"
    done = subprocess.run([sys.executable, "-c", paths + script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())
