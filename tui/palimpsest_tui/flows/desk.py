"""What the flows share: the engine, the jobs, the widgets, the settings, and the other flows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from palimpsest_core import printable_line
from palimpsest_tui.flows.ailing import Ailing
from palimpsest_tui.flows.beyond import Beyond
from palimpsest_tui.flows.copying import Copying
from palimpsest_tui.flows.exporting import Exporting
from palimpsest_tui.flows.filtering import Filtering
from palimpsest_tui.flows.finding import Finding
from palimpsest_tui.flows.generations import Generations
from palimpsest_tui.flows.going import Going
from palimpsest_tui.flows.inspecting import Inspecting
from palimpsest_tui.flows.kinship import Kinship
from palimpsest_tui.flows.listing import Listing
from palimpsest_tui.flows.living import Living
from palimpsest_tui.flows.marking import Marking
from palimpsest_tui.flows.opening import Opening
from palimpsest_tui.flows.panes import Panes
from palimpsest_tui.flows.telling import Telling
from palimpsest_tui.flows.walking import Walking
from palimpsest_tui.jobs.asking import Jobs, sentence
from palimpsest_tui.screens.window import Window
from palimpsest_tui.themes import NAMES
from palimpsest_tui.widgets.inspector import Inspector
from palimpsest_tui.widgets.lineage_tree import LineageTree
from palimpsest_tui.widgets.search_bar import SearchBar
from palimpsest_tui.widgets.session_list import SessionList
from palimpsest_tui.widgets.timeline import Timeline

if TYPE_CHECKING:
    from palimpsest_core import Engine
    from palimpsest_tui.screens.ledger import LedgerScreen
    from palimpsest_tui.settings import Settings, State


class Desk:
    """One desk for each main screen. It holds things together and decides nothing."""

    screen: LedgerScreen
    session_list: SessionList
    timeline: Timeline
    inspector: Inspector
    lineage_tree: LineageTree
    search_bar: SearchBar
    telling: Telling
    panes: Panes
    listing: Listing
    opening: Opening
    walking: Walking
    inspecting: Inspecting
    kinship: Kinship
    finding: Finding
    going: Going
    filtering: Filtering
    copying: Copying
    marking: Marking
    exporting: Exporting
    living: Living
    ailing: Ailing
    beyond: Beyond
    generations: Generations

    def __init__(self, screen: LedgerScreen, engine: Engine, settings: Settings, state: State) -> None:
        self.screen = screen
        self.engine = engine
        self.settings = settings
        self.state = state
        self.jobs = Jobs(screen, self._failed)
        self.session_list = screen.query_one(SessionList)
        self.timeline = screen.query_one(Timeline)
        self.inspector = screen.query_one("#inspector", Inspector)
        self.lineage_tree = screen.query_one(LineageTree)
        self.search_bar = screen.query_one(SearchBar)
        self.telling = Telling(self)
        self.panes = Panes(self)
        self.listing = Listing(self)
        self.opening = Opening(self)
        self.walking = Walking(self)
        self.inspecting = Inspecting(self)
        self.kinship = Kinship(self)
        self.finding = Finding(self)
        self.going = Going(self)
        self.filtering = Filtering(self)
        self.copying = Copying(self)
        self.marking = Marking(self)
        self.exporting = Exporting(self)
        self.living = Living(self)
        self.ailing = Ailing(self)
        self.beyond = Beyond(self)
        self.generations = Generations(self)

    def say(self, text: str, *, bad: bool = False) -> None:
        """Say one sentence in the status line for a while."""
        told = printable_line(text)
        self.telling.say(told, bad=bad)
        if isinstance(window := self.screen.app.screen, Window) and window.there:
            window.hear(told)

    def push(self, screen: Any, then: Callable[[Any], None] | None = None) -> None:
        """Show a window over this screen; none any more once the app was left."""
        if not self.screen.app._exit:
            self.screen.app.push_screen(screen, then)

    def help(self) -> None:
        """Show the keys that are valid here."""
        from palimpsest_tui.screens.help import HelpScreen

        self.push(HelpScreen(self.panes.focused() or "search", self.screen.keymap))

    def escape(self) -> None:
        """Close the notice, else go one level out; out of the hits lies the list of sessions."""
        if self.screen.close_notice() or (self.panes.focused() == "sessions" and self.finding.leave_hits()):
            return
        self.panes.go_out(fold=False)

    def next_view(self) -> None:
        """The next view of the focused pane."""
        pane = self.panes.focused()
        if pane == "sessions":
            self.listing.next_grouping()
        elif pane == "inspector":
            self.inspecting.next_view()
        else:
            self.walking.next_view()

    def next_theme(self) -> None:
        """The next theme, for this run; the settings file keeps one for good."""
        app = self.screen.app
        app.theme = NAMES[(NAMES.index(app.theme) + 1) % len(NAMES)] if app.theme in NAMES else NAMES[0]
        self.say(f'Theme {app.theme}; theme = "{app.theme}" in the settings file keeps it.')

    def _failed(self, topic: str, error: Exception) -> None:
        self.say(f"{topic}: {sentence(error)}", bad=True)

    def close(self) -> None:
        """Stop everything that runs."""
        self.living.stop()
        self.jobs.close()
        self.finding.seeker.close()
