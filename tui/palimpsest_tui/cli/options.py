"""Options that every command takes, before or after its name, and what they come to."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Settings:
    """What was asked for on the command line, once for all commands."""

    root: Path | None = None
    index: Path | None = None
    json: bool = False

    def merge(self, root: str | None, index: str | None, json: bool) -> None:
        """Take what was given nearer to the command: it wins."""
        if root is not None:
            self.root = as_path(root)
        if index is not None:
            self.index = as_path(index)
        self.json = self.json or json


def as_path(text: str) -> Path:
    """A path as given, with a leading `~` expanded."""
    return Path(os.path.expanduser(text))  # not Path.expanduser: it raises for a user nobody knows


def default_root() -> Path:
    """Where the harness keeps its logs: `$DSH_HOME/sessions` (blank counts as unset), else `~/.dsh/sessions`."""
    home = os.environ.get("DSH_HOME", "").strip()
    return (as_path(home) if home else Path.home() / ".dsh") / "sessions"


_ROOT = click.option(
    "--root", metavar="DIR", help="Folder of the logs [default: $DSH_HOME/sessions or ~/.dsh/sessions]."
)
_INDEX = click.option(
    "--index", metavar="FILE", help="File of the search index [default: one per root, in the cache folder]."
)
_JSON = click.option("--json", "json", is_flag=True, help="One JSON object on stdout instead of text.")


def group_options(group: Command) -> Command:
    """The same three options before the name of the command."""
    return _ROOT(_INDEX(_JSON(group)))


def shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--root`, `--index` and `--json`; it gets them as a `Settings`, its first argument."""

    @click.pass_context
    # Keeps the options that were declared below this one: click remembers them on the function.
    @functools.wraps(command)
    def wrapped(context: click.Context, /, root: str | None, index: str | None, json: bool, **rest: Any) -> Any:
        settings = context.ensure_object(Settings)
        settings.merge(root, index, json)
        return command(settings, **rest)

    return _JSON(_INDEX(_ROOT(wrapped)))


class SurfaceChoice(click.Choice[str]):
    """What an event is to the model now: `current`, `shadowed` or `log-only`, which `log` is short for; or `withheld`,
    a row that damage keeps from being one."""

    def __init__(self) -> None:
        super().__init__(["current", "shadowed", "log-only", "withheld"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The full name."""
        return super().convert("log-only" if value == "log" else value, param, ctx)


def as_utf8(text: str) -> str:
    """An argument as the UTF-8 it was typed in, also where the locale made something else of its bytes."""
    return os.fsencode(text).decode("utf-8", "surrogateescape")
