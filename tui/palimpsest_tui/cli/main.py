"""The `palimpsest` script: finds the command, loads only that, and turns every ending into an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import click

from palimpsest_tui.cli.exits import Exit, Failure, exit_of
from palimpsest_tui.cli.options import Settings, group_options
from palimpsest_tui.cli.output import ReaderGone, abandon_stdout, begin, say, say_progress, write_json_error
from palimpsest_tui.version import VERSION

COMMANDS = {
    "ls": "List sessions, the most recently active first.",
    "search": "Find a phrase in all sessions, or in one.",
    "show": "Show a session's events, or one event (ID#SEQ).",
    "surface": "Show what the model sees of a session, now or at ID@SEQ.",
    "trace": "Show a session's family, or an event's links (ID#SEQ).",
    "export": "Write a session and its descendants to a ZIP, or a transcript.",
    "index": "Bring the search index up to date.",
    "doctor": "Say which logs are damaged, foreign or odd, and how.",
    "stats": "Count turns, messages, tool calls and tokens.",
    "rescue": "Copy what can be read of a damaged log to another root.",
    "demo": "Make a demo corpus and open the app on it.",
    "completion": "Print the completion script for a shell.",
    "batch": "Answer a JSON job from stdin (the conformance protocol).",
    "mcp": "Serve the five agent tools over stdio (MCP).",
}
"""Every command and its one line of help: shown without loading any of them."""

MODULES = {name: name for name in COMMANDS} | {"mcp": "mcp_command", "open": "open"}


class Commands(click.Group):
    """A group that loads a command's module when the command is used, and takes a path for the app."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            return None
        module = importlib.import_module(f"palimpsest_tui.cli.{MODULES[cmd_name]}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table above, so that help loads nothing."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say where the settings file is on this platform."""
        from palimpsest_tui.settings import settings_path

        formatter.write_paragraph()
        formatter.write_text(f"Settings of the app (TOML; every key is optional): {settings_path()}")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and (looks_like_path(args[0]) or Path(args[0]).exists()):
            args = ["open", *args]
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from palimpsest_tui.cli.columns import cell

            hint = f"For a session: palimpsest show {cell(args[0])}; for words: palimpsest search."
            raise click.UsageError(f"{error.message} {hint}", ctx) from error


def looks_like_path(word: str) -> bool:
    """Whether a first word that is no command can only be meant as a path."""
    return "/" in word or word.startswith(("~", ".")) or word.endswith((".jsonl", ".zstd", ".zip"))


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(VERSION, message="palimpsest %(version)s")
@group_options
@click.pass_context
def cli(ctx: click.Context, root: str | None, index: str | None, json: bool) -> Any:
    """Browse, search, trace and export the history of DeepSeek Harness sessions.

    `palimpsest` opens the app on the default root; `palimpsest PATH` on a root, a session folder, a log file or an
    exported ZIP. Ids may be shortened while they are unique. Logs are never written.

    Exit status: 0 fine, 1 no match, 2 usage, 3 a problem in the data, 4 in the environment, 130 interrupted.
    """
    settings = ctx.ensure_object(Settings)
    settings.merge(root, index, json)
    if ctx.invoked_subcommand is None:
        from palimpsest_tui.cli.open import open_app

        return open_app(settings, None)
    return None


def run(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code; an error is one line on stderr, with `--json` an object too."""
    begin()
    code, message = _ending(arguments)
    if message:
        say_progress("")
        say(f"palimpsest: {message}")
        _as_json(sys.argv[1:] if arguments is None else arguments, code, message)
    return code


def _as_json(arguments: list[str], code: int, message: str) -> None:
    """Say an error to whoever reads stdout as JSON, if that was asked for."""
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--json" in words:
        try:
            write_json_error(next((word for word in words if word in COMMANDS), "open"), code, message)
        except ReaderGone:
            abandon_stdout()


def _ending(arguments: list[str] | None) -> tuple[int, str]:
    """Run one command line: its exit code, and what to say of an error (empty when it went well)."""
    try:
        result = cli.main(args=arguments, prog_name="palimpsest", standalone_mode=False)
        sys.stdout.flush()
        return int(result) if isinstance(result, int) else Exit.FINE, ""
    except ReaderGone:
        abandon_stdout()
        return Exit.FINE, ""
    except (KeyboardInterrupt, click.Abort):
        return Exit.INTERRUPTED, "interrupted"
    except Failure as error:
        return error.code, error.message
    except click.ClickException as error:
        hint = ""
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f" (see: {error.ctx.command_path} --help)"
        return Exit.USAGE, error.format_message() + hint
    except Exception as error:
        if os.environ.get("PALIMPSEST_DEBUG"):
            raise
        return _explain(error)


def _explain(error: Exception) -> tuple[int, str]:
    from palimpsest_core.base.errors import SessionQueryError

    if isinstance(error, SessionQueryError):
        if exit_of(error.code.name) is Exit.INTERRUPTED:
            return Exit.INTERRUPTED, "interrupted"
        return exit_of(error.code.name), f"{error.message} ({error.code.value})"
    if isinstance(error, OSError):
        place = f": {os.fsdecode(error.filename)}" if isinstance(error.filename, (str, bytes)) else ""
        return Exit.ENVIRONMENT, f"{error.strerror or type(error).__name__}{place}"
    what = str(error).partition("\n")[0]
    return Exit.ENVIRONMENT, f"internal error: {type(error).__name__}: {what} (PALIMPSEST_DEBUG=1 shows where)"


def main() -> None:
    """The script's entry point."""
    sys.exit(run())


if __name__ == "__main__":
    main()
