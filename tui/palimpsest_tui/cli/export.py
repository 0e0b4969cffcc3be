"""`palimpsest export`: the raw logs of a session and of what descends from it, in one ZIP."""

from __future__ import annotations

from pathlib import Path

import click

from palimpsest_tui.cli.columns import plural, size
from palimpsest_tui.cli.corpus import find_session, open_engine
from palimpsest_tui.cli.exits import Exit, Failure
from palimpsest_tui.cli.interrupt import cancel_on_interrupt
from palimpsest_tui.cli.options import Settings, as_path, as_utf8, shared_options
from palimpsest_tui.cli.output import say, say_progress, write_json, write_text
