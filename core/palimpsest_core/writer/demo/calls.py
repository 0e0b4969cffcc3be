"""Tool calls of the told stories with what came back, and the tools as a request header describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One tool call of a step with what came back. `error` is (name, code) when it failed; `result` None = unanswered."""

    name: str
    args: dict[str, Any]
    result: str | None
    error: tuple[str, str] | None = None
    meta: dict[str, Any] | None = None
    image: dict[str, Any] | None = None
    seconds: float = 1.5


def _tool(name: str, description: str, *fields: str) -> Row:
    properties = {key: {"type": "string"} for key in fields}
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "required": list(fields)},
    }


TOOLS: dict[str, Row] = {
    "read_file": _tool("read_file", "Read a text file, or a range of its lines.", "path"),
    "grep": _tool("grep", "Search file contents with a regular expression.", "pattern", "path"),
    "edit_file": _tool("edit_file", "Replace one exact passage of a file.", "path", "old", "new"),
    "bash": _tool("bash", "Run a command in the workspace shell.", "command"),
}


def read(path: str, text: str) -> Call:
    """`read_file` with the text that it returned."""
    return Call("read_file", {"path": path}, text, seconds=0.05)


def grep(pattern: str, found: str, path: str = ".") -> Call:
    """`grep` with the lines that it found."""
    return Call("grep", {"pattern": pattern, "path": path}, found, seconds=0.2)


def edit(path: str, old: str, new: str, at: int = 1) -> Call:
    """`edit_file`; the result shows the change as a unified diff."""
    minus, plus = old.splitlines(), new.splitlines()
    diff = [f"--- a/{path}", f"+++ b/{path}", f"@@ -{at},{len(minus)} +{at},{len(plus)} @@"]
    diff += [f"-{line}" for line in minus] + [f"+{line}" for line in plus]
    meta = {"path": path, "added": len(plus), "removed": len(minus)}
    return Call("edit_file", {"path": path, "old": old, "new": new}, "\n".join(diff), meta=meta, seconds=0.1)


def bash(command: str, output: str, *, fails: bool = False, seconds: float = 4.0) -> Call:
    """`bash` with what the command printed; `fails` marks a non-zero exit."""
    return Call(
        "bash",
        {"command": command},
        output,
        ("ShellExitError", "SHELL_EXIT_NONZERO") if fails else None,
        seconds=seconds,
    )
