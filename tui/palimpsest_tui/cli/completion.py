"""`palimpsest completion SHELL`: the script that lets a shell complete commands, options and session ids."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from palimpsest_tui.cli.exits import Exit
from palimpsest_tui.cli.output import write_bytes


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script for SHELL.

    For bash: `palimpsest completion bash > ~/.local/share/bash-completion/completions/palimpsest`; for zsh put it on
    $fpath as `_palimpsest`; for fish into ~/.config/fish/completions/palimpsest.fish.
    """
    from palimpsest_tui.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(cli, {}, "palimpsest", "_PALIMPSEST_COMPLETE").source()
    write_bytes(script.encode("utf-8") + b"\n")
    return Exit.FINE
