"""The main screen: composition, and every message and key handed to the flow that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.actions import SkipAction
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus
from textual.screen import Screen

from palimpsest_core import printable_line
from palimpsest_tui.commands import COMMANDS
from palimpsest_tui.flows.desk import Desk
from palimpsest_tui.jobs.outside import edit_file, run_command, view_text
from palimpsest_tui.key_order import OrderedKeys
from palimpsest_tui.keys import BY_ID, Where, bindings
from palimpsest_tui.reading.lines import FixedBlock, plain, wrap
from palimpsest_tui.screens.pages import Page
from palimpsest_tui.widgets.cells import clip
from palimpsest_tui.widgets.inspector import Inspector
from palimpsest_tui.widgets.line_list import LineList
from palimpsest_tui.widgets.lineage_tree import LineageTree
from palimpsest_tui.widgets.search_bar import SearchBar, SearchInput
from palimpsest_tui.widgets.session_list import SessionList
from palimpsest_tui.widgets.status_bar import Bar, KeyLine
from palimpsest_tui.widgets.timeline import Timeline

if TYPE_CHECKING:
    from palimpsest_core import Engine
    from palimpsest_tui.jobs.early import Early
    from palimpsest_tui.messages import Answered
    from palimpsest_tui.settings import Settings, State

_NOTICE_STAYS = frozenset({"nav.escape", "help", "palette", "quit"})
"""Commands that leave the first notice where it is; `esc` closes it itself, and does nothing else then."""


_ROOMY = 30
"""From this many rows on the notice may take as many lines as it likes."""


class Start:
    """What the app was started with: what to open at once, what to say, what to search for."""

    def __init__(
        self,
        *,
        select: str | None = None,
        seq: int | None = None,
        query: str | None = None,
        notice: str | None = None,
        early: Early | None = None,
    ) -> None:
        self.select = select
        self.seq = seq
        self.query = query
        self.notice = notice
        self.early = early
        """The first sessions, looked up before the screen was there."""


def _breakpoint(extent: int, points: list[tuple[int, str]]) -> str:
    """The class of the widest breakpoint that is reached; none for an extent that is not known."""
    return next((name for least, name in reversed(points) if extent and extent >= least), "")


class LedgerScreen(Screen[None]):
    """Sessions, timeline, inspector, lineage, and the search bar above them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.MAIN)
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (160, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (22, "-short"), (30, "-tall")]  # noqa: RUF012
    AUTO_FOCUS = "SessionList"

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        state: State,
        start: Start,
        keymap: dict[str, str],
        size: tuple[int, int] = (0, 0),
    ) -> None:
        """`size` is that of the terminal: the styles are right from the first, and not made once more after it."""
        super().__init__(classes=self._classes_of(size))
        self._engine = engine
        self._settings = settings
        self._state = state
        self._start = start
        self.keymap = keymap
        self._desk: Desk | None = None
        self._told_root = False
        self._notice_lines: list[str] = []

    @classmethod
    def _classes_of(cls, size: tuple[int, int]) -> str:
        pairs = zip(size, (cls.HORIZONTAL_BREAKPOINTS, cls.VERTICAL_BREAKPOINTS), strict=True)
        return " ".join([name for extent, points in pairs if (name := _breakpoint(extent, points or []))])

    @property
    def desk(self) -> Desk:
        """The desk, from the first mount on."""
        assert self._desk is not None
        return self._desk

    def compose(self) -> ComposeResult:
        """One tree of widgets for every size; the style sheet arranges it."""
        yield Bar(id="path-bar")
        yield SearchBar()
        yield Page([], id="notice")
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                yield SessionList(id="sessions")
                yield LineageTree(id="lineage")
            with Vertical(id="main"):
                yield Timeline(id="timeline")
                yield Inspector(id="inspector")
        yield Bar(id="status-bar")
        yield KeyLine(id="key-line")

    def on_mount(self) -> None:
        """Everything starts here; the first paint does not wait for any of it."""
        self.query_one("#notice", Page).can_focus = False
        self._desk = desk = Desk(self, self._engine, self._settings, self._state)
        self.set_class(self._settings.ascii_borders, "-ascii")
        self.show_keys()
        desk.telling.where()
        desk.opening.title()
        desk.listing.title()
        desk.listing.start(None if self._start.query else self._start.early)
        self.call_after_refresh(desk.living.start)
        if self._start.query:
            desk.search_bar.set_text(self._start.query)
        if self._start.select is not None:
            desk.opening.open(self._start.select, self._start.seq, remember=False)

    def on_unmount(self) -> None:
        """Stop all work."""
        if self._desk is not None:
            self._desk.close()

    # What the flows ask of the screen ----------------------------------------------------------------------------

    def sessions_known(self) -> None:
        """The first list is there: on a root never seen before, say what it is."""
        root = str(self._engine.root)
        if root in self._state.seen_roots and not self._start.notice:
            return
        self._state.seen_roots = [root, *(old for old in self._state.seen_roots if old != root)][:50]
        if self._engine.root is None:
            return
        lines = [self._start.notice] if self._start.notice else []
        lines.append("/ search · enter open · e export · ? keys · q quit · esc closes this")
        lines.append(self.desk.listing.describe())
        lines += [printable_line(f"Root, never written to: {root}"), self.desk.living.describe_index()]
        self._show_notice([*self._notice_lines, *lines])

    def tell_settings(self, path: Path, problems: list[str]) -> None:
        """Say everything that is wrong with the settings, above whatever else the notice says."""
        told = [f"The settings file {path}:", *problems]
        self._show_notice([*map(printable_line, told), *self._notice_lines])

    def notice_root(self, problem: str) -> None:
        """Say what is the matter with a root of which nothing opens, once."""
        if problem and not self._told_root:
            self._told_root = True
            self._show_notice([*self._notice_lines, problem])

    def _show_notice(self, lines: list[str]) -> None:
        notice = self.query_one("#notice", Page)
        self._notice_lines = lines
        width = max(20, self.size.width - 6)
        if self.size.height < _ROOMY:  # one row each; what is cut (mostly the end of a path) `doctor` tells too
            lines = [clip(line, width) for line in lines]
        styled = [plain(line, "line--dim" if number else "text--strong") for number, line in enumerate(lines)]
        wrapped = [part for line in styled for part in wrap(line, width, 2)]
        notice.turn_to([FixedBlock(wrapped)])
        notice.styles.height = len(wrapped) + 2
        notice.add_class("shown")

    def close_notice(self) -> bool:
        """Close the notice. False when none is shown."""
        notice = self.query_one("#notice", Page)
        shown = notice.has_class("shown")
        self._notice_lines = []
        notice.remove_class("shown")
        return shown

    def run_list_action(self, action: str) -> None:
        """Run a motion on the focused list."""
        if isinstance(self.focused, LineList):
            self.call_later(self.focused.run_action, action)

    def hold_keys(self, settled: Callable[[], bool]) -> None:
        """Let the keys behind the one under way wait until something is settled."""
        if isinstance(self.app, OrderedKeys):
            self.app.hold(settled)

    def view_outside(self, name: str, text: str, editor: str | None) -> None:
        """Show a text in the pager or an editor, in place of the app."""
        problem = self._outside(partial(view_text, name, text, editor))
        if problem:
            self.desk.say(problem, bad=True)

    def edit_outside(self, path: Path, editor: str) -> None:
        """Open a file of the app's own in an editor, in place of the app."""
        problem = self._outside(partial(edit_file, path, editor))
        self.desk.say(problem or f"Settings: {path}; what changed holds from the next start on.", bad=bool(problem))

    def run_outside(self, command: str, cwd: str | None) -> None:
        """Run a command in place of the app, which comes back afterwards."""
        problem = self._outside(partial(run_command, command, cwd))
        self.desk.say(problem or "Back again.", bad=bool(problem))

    def _outside(self, run: Callable[[], str]) -> str:
        """Run something that takes the terminal; what went wrong as a sentence."""
        try:
            with self.app.suspend():
                return run()
        except SuspendNotSupported:
            return "This terminal cannot be handed to another program."

    # Messages ----------------------------------------------------------------------------------------------------

    def action_command(self, command_id: str) -> None:
        """Run a command by its id."""
        if isinstance(self.focused, SearchInput) and command_id in ("nav.in", "nav.out"):
            raise SkipAction
        if command_id not in _NOTICE_STAYS:
            self.close_notice()
        self.desk.telling.unsay()
        self.desk.going.drop()
        COMMANDS[command_id].run(self.desk)

    def on_answered(self, event: Answered) -> None:
        """An answer from a worker."""
        event.stop()
        self.desk.jobs.deliver(event)
        self.desk.going.look()
        if isinstance(self.app, OrderedKeys):
            self.app.look_on()

    def on_line_list_moved(self, event: LineList.Moved) -> None:
        """The cursor of a list moved."""
        event.stop()
        if event.line_list.has_focus and event.line_list.touched:
            self.close_notice()  # a person looks around: they are past the first look
        if event.by_hand:
            self.desk.telling.unsay()
        if event.line_list is self.desk.timeline:
            self.desk.living.cursor_moved()
            self.desk.inspecting.moved()
            self.desk.telling.moved()
        elif event.line_list is self.desk.session_list:
            self.desk.listing.moved()
            self.desk.telling.status()
        elif event.line_list is self.desk.lineage_tree:
            self.desk.kinship.moved()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """A row was gone into."""
        event.stop()
        self.close_notice()
        self.desk.telling.unsay()
        if event.line_list.id is not None:
            self.desk.panes.choose(event.line_list.id)

    def on_inspector_link_chosen(self, event: Inspector.LinkChosen) -> None:
        """A link of the inspector."""
        self.desk.inspecting.follow(event.link)

    def on_inspector_resized(self, event: Inspector.Resized) -> None:
        """The inspector came on the screen, or has another width."""
        event.stop()
        if self._desk is not None:
            self.desk.inspecting.show()

    def on_timeline_gists_wanted(self, event: Timeline.GistsWanted) -> None:
        """Rows on the screen that are not read yet."""
        self.desk.opening.gists_wanted(event)

    def on_search_bar_changed(self, event: SearchBar.Changed) -> None:
        """Another text to search for."""
        if self.desk.finding.changed() and self.desk.search_bar.input.has_focus:
            self.close_notice()
            self.desk.telling.unsay()

    def on_search_input_asked(self, event: SearchInput.Asked) -> None:
        """A key of the search bar."""
        self.close_notice()
        self.desk.telling.unsay()
        self.desk.going.asked(event.what)

    def on_bar_pressed(self, event: Bar.Pressed) -> None:
        """A click on the key line: a command, or a key of the list or the search bar that has the focus."""
        if event.command in COMMANDS:
            self.action_command(event.command)
        elif self.focused is not None:
            self.call_later(self.focused.run_action, BY_ID[event.command].action)

    def show_keys(self) -> None:
        """Show at the bottom the keys that work where the focus is."""
        place = self.desk.panes.focused() or ("search" if isinstance(self.focused, SearchInput) else "")
        if place == "sessions" and self.desk.session_list.showing_hits:
            place = "hits"
        if place:
            nowhere = () if self.desk.opening.history.can_go_back else ("history.back",)
            self.query_one(KeyLine).show_keys(self.keymap, place, without=nowhere)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """A click may bring the focus to a pane: the level follows."""
        if self._desk is not None and isinstance(event.widget, LineList) and event.widget.id is not None:
            self.desk.panes.level = event.widget.id
        if self._desk is not None:
            self.desk.telling.status()
            self.desk.finding.facts()
            self.show_keys()

    def on_resize(self) -> None:
        """Another size: the panes take their places, the inspector is wrapped anew."""
        if self._desk is not None:
            self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        self.desk.panes.apply()
        self.desk.telling.where()
        if self._notice_lines:
            self._show_notice(self._notice_lines)
