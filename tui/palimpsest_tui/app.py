"""The app: themes, keys, the engine, the main screen. Everything a person does is in the flows."""

from __future__ import annotations

import asyncio
import gc
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.command import Provider

from palimpsest_core import CancelToken, Engine
from palimpsest_tui.key_order import OrderedKeys
from palimpsest_tui.keys import check_keymap
from palimpsest_tui.palette import CommandProvider
from palimpsest_tui.screens.ledger import LedgerScreen, Start
from palimpsest_tui.settings import Loaded, State, load_settings, load_state, save_state, settings_path
from palimpsest_tui.themes import DEFAULTS, NAMES, THEMES

Grow = Callable[[CancelToken], None]
_UP_S = 1.0
"""After this long the first list is up on most roots; what there is then stays and is never looked through again."""
_THREADS = 16
"""Workers that wait for a disk or the index; the usual six could all be held by searches that are being cancelled."""


class PalimpsestApp(OrderedKeys[int]):
    """The terminal app over one engine."""

    TITLE = "Palimpsest"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {CommandProvider}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True),
    ]
    CSS = """
    CommandPalette > Vertical { width: 80%; max-width: 90; margin-top: 2; }
    CommandPalette CommandList { max-height: 60vh; }
    ModalScreen { background: $background 60%; }
    """

    def __init__(
        self,
        engine: Engine,
        start: Start | None = None,
        *,
        loaded: Loaded | None = None,
        state: State | None = None,
        state_file: Path | None = None,
        grow: Grow | None = None,
    ) -> None:
        """`loaded`, `state` and `state_file` stand in for the person's own files, which are read without them."""
        super().__init__()
        self.engine = engine
        self._start = start or Start()
        self._loaded = load_settings() if loaded is None else loaded
        self._state_file = state_file
        self.state = load_state(state_file) if state is None else state
        self._grow = grow
        self._grow_token = CancelToken()
        self._keys = check_keymap(self._loaded.settings.keys)
        for theme in THEMES:
            self.register_theme(theme)

    def on_mount(self) -> None:
        """Set the theme and the keys, show the main screen."""
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "palimpsest"))
        wanted = self._loaded.settings.theme
        self.theme = wanted if wanted in self.available_themes else NAMES[0]
        self.set_keymap(self._keys.keymap)
        screen = LedgerScreen(self.engine, self._loaded.settings, self.state, self._start, self._keys.keymap, self.size)
        self.push_screen(screen)
        problems = [*self._loaded.problems, *self._keys.problems]
        if wanted not in self.available_themes:
            problems.append(f"There is no theme {wanted}; there are {', '.join(NAMES)}.")
        if problems:
            self.call_after_refresh(screen.tell_settings, settings_path(), problems)
        self.set_timer(_UP_S, _collect_again)
        if self._grow is not None:
            self.run_worker(partial(self._grow, self._grow_token), thread=True, name="grow", exit_on_error=False)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own colour names, for the themes that come with Textual."""
        return DEFAULTS

    def on_unmount(self) -> None:
        """Stop the demo's writer, keep the state."""
        self._grow_token.set()
        try:
            save_state(self.state, self._state_file)
        except OSError as error:
            self.log.warning(f"The state cannot be kept: {error}")

    def _fatal_error(self) -> None:
        """A crash: the places in our code and the kind of the error, without a value of any log."""
        self.bell()
        self._exit_renderables.append(Text(crash_report(self._exception)))
        self._close_messages_no_wait()


def _collect_again() -> None:
    gc.freeze()
    gc.enable()


def crash_report(error: BaseException | None) -> str:
    """What may be passed on of a crash: frames with their lines of code, the type of the error; no log content."""
    if error is None:
        return "Palimpsest stopped without an error."
    frames = traceback.extract_tb(error.__traceback__)
    lines = ["Palimpsest crashed. This report holds no log content; please pass it on.", ""]
    lines += [f"  {_short(frame.filename)}:{frame.lineno} {frame.name}: {frame.line}" for frame in frames[-30:]]
    lines.append(f"{type(error).__name__}")
    return "\n".join(lines)


def _short(path: str) -> str:
    parts = Path(path).parts
    return "/".join(parts[-3:])


def run_app(
    root: Path | None,
    index: Path | None,
    *,
    select: str | None = None,
    seq: int | None = None,
    query: str | None = None,
    notice: str | None = None,
    grow: Grow | None = None,
) -> int:
    """Run the app on a root until the person leaves it. The exit code: 0 fine, 1 after a crash.

    `root` None: none was found, the app says what to do. `select` and `seq` open a session (at an event) at once,
    `query` is put into the search bar, `notice` is said in the first notice, `grow` runs in a thread until its token is
    set.
    """
    engine = Engine(root, index=index)
    try:
        app = PalimpsestApp(engine, Start(select=select, seq=seq, query=query, notice=notice), grow=grow)
        app.run()
    finally:
        engine.close()
    return app.return_code or 0


__all__ = ["PalimpsestApp", "run_app"]
