"""What the README says is so: its commands, options, keys, lines to copy and pictures are those of the program."""

from __future__ import annotations

import re
import shlex

import click
from house import TOP

from palimpsest_tui.cli.main import COMMANDS, cli
from palimpsest_tui.keys import KEYS, Where, spelled

README = (TOP / "README.md").read_text("utf-8")


def command_lines() -> list[list[str]]:
    """Every `palimpsest …` in the README, as words, placeholders and optional parts without their brackets."""
    found = re.findall(r"`palimpsest((?: [^`]*)?)`|bin/palimpsest ([^\n`]*)", README)
    return [shlex.split(re.sub(r"[\[\]]", " ", one or two)) for one, two in found]


def test_every_command_of_the_readme_exists_with_its_options() -> None:
    context = click.Context(cli)
    for line in command_lines():
        words = [word for word in line if not word.startswith("-")]
        if not words or words[0] == "PATH":
            continue
        command = cli.get_command(context, words[0])
        assert command is not None, f"palimpsest {' '.join(line)}"
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in line if word.startswith("-")} <= known, f"palimpsest {' '.join(line)}"


def test_the_readme_names_every_command() -> None:
    named = {words[0] for words in command_lines() if words}
    assert set(COMMANDS) - named == set()


def test_the_keys_of_the_readme_are_the_keys_of_the_app() -> None:
    rows = re.findall(r"^\| (`[^|]*) \|", README.partition("## Keys")[2].partition("\n## ")[0], re.MULTILINE)
    told = {key for row in rows for key in re.findall(r"`([^`]+)`", row)}
    names = {"↓": "down", "↑": "up", "←": "left", "→": "right", "esc": "escape"}
    told_keys = {key for name in told for key in spelled(names.get(name, name))}
    real = {key for entry in KEYS if entry.where in (Where.MAIN, Where.LIST) for key in spelled(entry.keys)}
    aliases = {"home", "end", "pagedown", "pageup", "shift+tab", "ctrl+p"}
    assert told_keys - real == set(), "told, and not there"
    assert real - told_keys - aliases == set(), "there, and not told"


def test_each_line_to_copy_is_one_line_in_its_place() -> None:
    for mark in ("<!-- the demo line -->", "<!-- the test line -->"):
        block = README.partition(mark)[2].partition("```sh\n")[2].partition("```")[0]
        assert block.count("\n") == 1, mark
        assert block.startswith("python3 -m venv .venv && "), mark
        assert "-c constraints.txt" in block, mark


def test_every_picture_and_path_of_the_readme_is_in_the_tree() -> None:
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (TOP / picture).is_file(), picture
    for path in re.findall(r"`((?:tests|core|tui|screenshots|\.ci)/[\w./-]+)`", README):
        assert (TOP / path).exists(), path


def test_every_dependency_is_justified() -> None:
    import tomllib

    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["mcp"]]
    table = README.partition("## What it depends on")[2].partition("\n## ")[0]
    for item in wanted:
        name = re.split(r"[<>=]", item)[0]
        assert re.search(rf"^\|[^|]*\b{re.escape(name)}\b[^|]*\| \w", table, re.MULTILINE), name
