"""The script itself: endings as exit codes, options before and after the command, what counts as a path."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import ErrorCode, SessionQueryError
from palimpsest_tui.cli import main as script
from palimpsest_tui.cli.exits import Exit, Failure, exit_of
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, as_utf8, default_root
from palimpsest_tui.version import VERSION

TOP = Path(__file__).parents[2]


def ending(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.delenv("PALIMPSEST_DEBUG", raising=False)
    monkeypatch.setattr(script.cli, "main", fail)
    return script.run([])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Failure(Exit.NO_MATCH, "nothing"), 1),
        (click.UsageError("what"), 2),
        (click.Abort(), 130),
        (KeyboardInterrupt(), 130),
        (FileNotFoundError(2, "No such file", "/x"), 4),
        (MemoryError(), 4),
        *(
            (SessionQueryError(code, "why"), want)
            for code, want in (
                (ErrorCode.ABORTED, 130),
                (ErrorCode.SESSION_NOT_FOUND, 1),
                (ErrorCode.EVENT_NOT_FOUND, 1),
                (ErrorCode.INVALID_QUERY, 2),
                (ErrorCode.PERSISTENCE_FAILED, 3),
                (ErrorCode.CORRUPT_SESSION, 3),
                (ErrorCode.INDEX_FAILED, 4),
            )
        ),
    ],
)
def test_every_ending_is_one_line_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    assert ending(monkeypatch, error) == code
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("palimpsest: ")
    assert shown.err.count("\n") == 1


def test_every_error_code_has_an_exit_code() -> None:
    assert {exit_of(code.name) for code in ErrorCode} == set(Exit) - {Exit.FINE}


def test_a_message_with_hostile_text_is_harmless(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ending(monkeypatch, Failure(Exit.DATA, "bad\x1b[31m title\r\n\u202eevil\udc80"))
    shown = capfd.readouterr().err
    assert shown.isprintable() is False  # the line end
    assert shown[:-1].isprintable()


def test_a_debugger_sees_the_whole_story(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(script.cli, "main", fail)
    monkeypatch.setenv("PALIMPSEST_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        script.run([])


def test_every_command_is_listed_and_loads() -> None:
    context = click.Context(script.cli)
    for name in script.MODULES:
        command = script.cli.get_command(context, name)
        assert command is not None
        assert command.help
    assert script.cli.get_command(context, "no-such-command") is None


def test_every_command_but_the_plumbing_takes_root_index_and_json() -> None:
    context = click.Context(script.cli)
    for name in set(script.MODULES) - {"batch", "completion"}:
        command = script.cli.get_command(context, name)
        assert command is not None
        assert {"root", "index", "json"} <= {parameter.name for parameter in command.params}, name


@pytest.mark.parametrize(
    "arguments", [["--root", "/a", "probe"], ["probe", "--root", "/a"], ["--root", "/b", "probe", "--root", "/a"]]
)
def test_shared_options_stand_before_or_after_the_command_and_the_nearer_one_wins(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    from palimpsest_tui.cli.options import shared_options

    seen: list[Settings] = []

    @click.command("probe")
    @shared_options
    def probe(settings: Settings) -> int:
        seen.append(settings)
        return 0

    monkeypatch.setattr(type(script.cli), "get_command", lambda *_: probe)
    assert script.run(arguments) == 0
    assert seen[0].root == Path("/a")


@pytest.mark.parametrize("word", ["./x", "/a/b", "~/x", "session.jsonl", "a.jsonl.zstd", "export.zip", "..", "a/b"])
def test_a_word_that_can_only_be_a_path_opens_the_app(word: str) -> None:
    assert script.looks_like_path(word)


@pytest.mark.parametrize("word", ["ls", "serch", "0198fb5e"])
def test_a_mistyped_command_is_no_path(word: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert not script.looks_like_path(word)


def test_an_unknown_command_is_a_usage_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert script.run(["serch"]) == 2
    assert "No such command 'serch'" in capfd.readouterr().err


def test_without_a_terminal_the_bare_command_says_how_to_use_the_commands(capfd: pytest.CaptureFixture[str]) -> None:
    assert script.run([]) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "palimpsest ls" in shown.err


def test_the_root_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSH_HOME", " ")
    monkeypatch.setenv("HOME", "/home/mo")
    assert default_root() == Path("/home/mo/.dsh/sessions")
    monkeypatch.setenv("DSH_HOME", "~/harness")
    assert default_root() == Path("/home/mo/harness/sessions")


def test_an_argument_is_the_utf_8_it_was_typed_in() -> None:
    assert as_utf8("搜索") == "搜索"
    assert as_utf8(os.fsdecode(b"\xff")) == os.fsdecode(b"\xff")


def test_an_interrupt_sets_the_token_while_the_main_thread_is_deep_in_other_code() -> None:
    with cancel_on_interrupt() as cancel:
        assert isinstance(cancel, CancelToken)
        os.kill(os.getpid(), signal.SIGINT)
        done = signal.getsignal(signal.SIGINT)
        while not cancel.is_set():
            pass
        assert callable(done)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_interrupt_does_not_ask() -> None:
    def twice() -> None:
        with cancel_on_interrupt() as cancel:
            os.kill(os.getpid(), signal.SIGINT)
            while not cancel.is_set():
                pass
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        twice()


def test_a_reader_that_goes_away_is_no_error() -> None:
    program = (
        "import sys, click; from palimpsest_tui.cli import main, output\n"
        "write = click.Command('ls', callback=lambda: output.write_lines('x' * 99 for _ in range(99999)))\n"
        "main.Commands.get_command = lambda *_: write\n"
        "sys.exit(main.run(['ls']))"
    )
    command = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.read(10)
    command.stdout.close()
    assert command.stderr.read() == b""
    command.stderr.close()
    assert command.wait() == 0


def test_the_version_is_told_from_a_tree_that_is_not_installed() -> None:
    paths = os.pathsep.join(str(TOP / part) for part in ("core", "tui"))
    told = subprocess.run(
        [sys.executable, "-c", "import sys; from palimpsest_tui.cli.main import run; sys.exit(run(['--version']))"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == f"palimpsest {VERSION}\n"
