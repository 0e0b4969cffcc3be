"""The app: themes, keys, the engine, the main screen. Everything a person does is in the flows."""

from __future__ import annotations

import asyncio
import gc
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.command import Provider

if TYPE_CHECKING:
    from palimpsest_core import Engine
    from palimpsest_tui.settings import Loaded, State

from palimpsest_core import CancelToken
from palimpsest_tui.jobs.early import late_engine, look_early
from palimpsest_tui.key_order import OrderedKeys
from palimpsest_tui.keys import check_keymap, way_out
from palimpsest_tui.palette import CommandProvider
from palimpsest_tui.screens.ledger import LedgerScreen, Start
from palimpsest_tui.settings import load_settings, load_state, save_state, settings_path
from palimpsest_tui.themes import DEFAULTS, NAMES, THEMES

Grow = Callable[[CancelToken], None]
_UP_S = 1.0
"""After this long the first list is up on most roots; what there is then stays and is never looked through again."""
_THREADS = 16
"""Workers that wait for a disk or the index; the usual six could all be held by searches that are being cancelled."""


class PalimpsestApp(OrderedKeys[int]):
    """The terminal app over one engine."""

    TITLE = "Palimpsest"
    CSS_PATH = "screens/ledger.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {CommandProvider}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    WAY_OUT = way_out()
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
        self._start_with_theme(self._loaded.settings.theme)

    def _start_with_theme(self, wanted: str) -> None:
        """Set the first theme without the watchers: with them, all styles are made for another one before."""
        self.set_reactive(PalimpsestApp.theme, wanted if wanted in self.available_themes else NAMES[0])
        theme = self.current_theme
        kinds = {"-dark-mode": theme.dark, "-light-mode": not theme.dark, f"-theme-{theme.name}": True}
        self.update_classes(kinds, update=False)
        self.stylesheet.set_variables(self.get_css_variables())
        self._refresh_truecolor_filter(self.ansi_theme)

    def get_default_screen(self) -> LedgerScreen:
        """The main screen is the only one from the start: none is made and styled in vain below it."""
        settings, keymap = self._loaded.settings, self._keys.keymap
        return LedgerScreen(self.engine, settings, self.state, self._start, keymap, self.size)

    def on_mount(self) -> None:
        """Set the keys, say what is wrong with the settings."""
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "palimpsest"))
        self.set_keymap(self._keys.keymap)
        problems = [*self._loaded.problems, *self._keys.problems]
        if (wanted := self._loaded.settings.theme) not in self.available_themes:
            problems.append(f"There is no theme {wanted}; there are {', '.join(NAMES)}.")
        if problems:
            self.call_after_refresh(self._tell_settings, problems)
        self.set_timer(_UP_S, _collect_again)
        if self._grow is not None:
            self.run_worker(partial(self._grow, self._grow_token), thread=True, name="grow", exit_on_error=False)

    def _tell_settings(self, problems: list[str]) -> None:
        main = self.screen_stack[0]
        assert isinstance(main, LedgerScreen)
        main.tell_settings(settings_path(), problems)

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
    early = look_early(root, index)
    engine = late_engine(root, index)
    start = Start(select=select, seq=seq, query=query, notice=notice, early=early)
    try:
        app = PalimpsestApp(engine, start, grow=grow)
        app.run()
    finally:
        engine.close()
    return app.return_code or 0


__all__ = ["PalimpsestApp", "run_app"]
