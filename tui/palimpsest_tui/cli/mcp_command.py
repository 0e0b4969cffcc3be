"""`palimpsest mcp`: the five agent tools over stdio, for one caller that the operator names."""

from __future__ import annotations

import logging
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import click

from palimpsest_tui.cli.corpus import find_session, open_engine
from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.options import Settings, as_utf8, shared_options


@click.command("mcp")
@click.option(
    "--caller", metavar="ID", help="Speak for this session: its workspace may be seen, its own hits are left out."
)
@click.option("--cwd", metavar="DIR", help="Speak for a workspace that has no session yet.")
@shared_options
def command(settings: Settings, caller: str | None, cwd: str | None) -> int:
    """Serve the five agent tools to one MCP client over stdin and stdout.

    Only sessions whose working directory equals the caller's can be seen. Needs the extra `mcp`.
    """
    from palimpsest_core.tools import Caller, Toolbox
    from palimpsest_core.tools.mcp_server import serve_stdio

    if (caller is None) == (cwd is None):
        raise Failure(Exit.USAGE, "name the caller: --caller ID, or --cwd DIR for a workspace without a session")
    if find_spec("mcp") is None:
        raise Failure(Exit.ENVIRONMENT, "the MCP SDK is not installed: pip install 'dsh-palimpsest[mcp]'")
    # stdout belongs to the protocol; what went wrong in full is for the operator, on stderr.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="palimpsest mcp: %(levelname)s %(message)s")
    with open_engine(settings) as engine:
        if caller is not None:
            who = Caller(find_session(engine, as_utf8(caller)))
        else:
            who = Caller(None, _workspace(as_utf8(cwd or "")))
        serve_stdio(Toolbox(engine, who), _version())
    return Exit.FINE


def _version() -> str:
    try:
        return version("dsh-palimpsest")
    except PackageNotFoundError:
        # Run from a source tree that was not installed.
        return "0"


def _workspace(directory: str) -> str:
    """A directory as headers spell it: workspaces are equal as exact strings, so an absolute one stays as given."""
    return directory if os.path.isabs(directory) else os.path.abspath(directory)
