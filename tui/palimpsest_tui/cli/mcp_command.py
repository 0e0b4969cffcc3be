"""`palimpsest mcp`: the five agent tools over stdio, for one caller that the operator names."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from palimpsest_tui.cli.corpus import find_session, open_engine
from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.options import Settings, as_utf8, shared_options
from palimpsest_tui.version import VERSION

if TYPE_CHECKING:
    from palimpsest_core import Engine


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
        with _indexing(engine):
            serve_stdio(Toolbox(engine, who), VERSION)
    return Exit.FINE


@contextmanager
def _indexing(engine: Engine) -> Iterator[None]:
    """Begin to bring the index up to date while the client says hello, so that the first search need not do it all."""
    from palimpsest_core import CancelToken, SessionQueryError

    cancel = CancelToken()

    def refresh() -> None:
        try:
            engine.refresh(cancel)
        except SessionQueryError as error:
            # A search will meet the same fault and report it; the operator hears of it now.
            if not cancel.is_set():
                logging.getLogger(__name__).warning("the index could not be brought up to date: %s", error.message)

    worker = threading.Thread(target=refresh, name="indexing")
    worker.start()
    try:
        yield
    finally:
        cancel.set()
        worker.join()


def _workspace(directory: str) -> str:
    """A directory as headers spell it: workspaces are equal as exact strings, so an absolute one stays as given."""
    return directory if os.path.isabs(directory) else os.path.abspath(directory)
