"""Panes: which are shown, which has the focus, how large they are, and the way in and out of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from palimpsest_tui.flows.resting import Rest

if TYPE_CHECKING:
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.widgets.line_list import LineList

ORDER = ("sessions", "timeline", "inspector", "lineage")
_OUT = {"inspector": "timeline", "timeline": "sessions", "lineage": "timeline"}
_IN = {"sessions": "timeline", "timeline": "inspector", "lineage": "timeline"}
_LEFT_MIN, _RIGHT_MIN, _HEIGHT_MIN = 22, 24, 5
_STEP = {"width": 4, "height": 2}


class Panes:
    """One at a time on a narrow screen, side by side on a wider one."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._moved = Rest(desk.screen)
        self.level = "sessions"
        self.apply()

    # Which are shown ---------------------------------------------------------------------------------------------

    @property
    def narrow(self) -> bool:
        """Whether one pane is shown at a time."""
        return self._desk.screen.has_class("-narrow")

    @property
    def wide(self) -> bool:
        """Whether all four panes stand side by side."""
        return self._desk.screen.has_class("-wide")

    def pane(self, name: str) -> LineList:
        """The list of a pane."""
        desk = self._desk
        panes: dict[str, LineList] = {
            "sessions": desk.session_list,
            "timeline": desk.timeline,
            "inspector": desk.inspector,
            "lineage": desk.lineage_tree,
        }
        return panes[name]

    def apply(self) -> None:
        """Show what the state says, at the sizes it remembers.

        Shown and hidden without classes: a class on the screen makes Textual match every style anew, which takes 30 ms.
        """
        screen, state, narrow = self._desk.screen, self._desk.state, self.narrow
        wanted = {"sessions": True, "timeline": True, "inspector": state.inspector, "lineage": state.lineage}
        for name in ORDER:
            self.pane(name).display = self.level == name if narrow else wanted[name]
        left, main = screen.query_one("#left"), screen.query_one("#main")
        left.display = not narrow or self.level in ("sessions", "lineage")
        main.display = not narrow or self.level in ("timeline", "inspector")
        self._size(left, "width", 0 if narrow else state.left_width)
        self._size(self._desk.inspector, "width", state.right_width if self.wide else 0)
        self._size(self._desk.inspector, "height", 0 if self.wide or narrow else state.inspector_height)
        self._size(self._desk.lineage_tree, "height", 0 if narrow else state.lineage_height)

    @staticmethod
    def _size(widget: Widget, side: str, cells: int) -> None:
        if cells:
            setattr(widget.styles, side, cells)
        else:
            widget.styles.clear_rule(side)

    def title(self, name: str, text: str) -> None:
        """The title in the frame of a pane. The text is our own."""
        self.pane(name).border_title = Content(text)

    def focused(self) -> str | None:
        """The name of the pane that has the focus."""
        return next((name for name in ORDER if self.pane(name).has_focus), None)

    # Moving between them -----------------------------------------------------------------------------------------

    def enter(self, name: str) -> None:
        """Show a pane and give it the focus; a hidden pane is shown again."""
        if name == "inspector":
            self._desk.state.inspector = True
        elif name == "lineage":
            self._desk.state.lineage = True
        self._moved.stop()  # whoever goes somewhere does not want the preview of where they were
        self.level = name
        self.apply()
        self.pane(name).focus()
        self._desk.telling.status()

    def reveal_hits(self) -> None:
        """On a narrow screen, show the hits to a person who types, whatever pane they came from."""
        if self.narrow and self.level != "sessions" and self._desk.search_bar.input.has_focus:
            self.level = "sessions"
            self.apply()

    def cycle(self, step: int) -> None:
        """The next or previous pane that is on the screen; on a narrow one all of them in turn."""
        names = [name for name in ORDER if self.narrow or (self.pane(name).display and self._on_screen(name))]
        here = self.focused() or self.level
        at = names.index(here) if here in names else -1
        self.enter(names[(at + step) % len(names)])

    def _on_screen(self, name: str) -> bool:
        return self.pane(name).size.width > 0 and self.pane(name).size.height > 0

    def go_in(self) -> None:
        """Unfold the row; where nothing unfolds, go one pane in."""
        here = self.focused()
        if here == "timeline" and self._desk.timeline.unfold():
            return
        if here == "inspector":
            self._desk.inspecting.go_in()
            return
        if here == "sessions":
            self._desk.listing.choose()
            return
        if here in _IN:
            self.enter(_IN[here])

    def go_out(self, *, fold: bool = True) -> None:
        """Fold the row; where nothing folds, go one pane out. At the outermost pane nothing happens."""
        here = self.focused()
        if fold and here == "timeline" and self._desk.timeline.fold():
            return
        if fold and here == "inspector" and self._desk.inspecting.go_out():
            return
        if here in _OUT:
            self.enter(_OUT[here])

    def choose(self, name: str) -> None:
        """Enter on a row of a pane."""
        desk = self._desk
        if name == "sessions":
            desk.listing.choose()
        elif name == "timeline":
            place = desk.timeline.place()
            if place is not None and place.span.events > 1:
                desk.timeline.fold() if place.opened else desk.timeline.unfold()
            else:
                self.enter("inspector")
        elif name == "lineage":
            desk.kinship.choose()

    def session_moved(self, delay: float, then: Callable[[], None]) -> None:
        """Run `then` once the cursor of the list rests."""
        self._moved.begin(delay, then)

    # Sizes -------------------------------------------------------------------------------------------------------

    def toggle_inspector(self) -> None:
        """Show or hide the inspector."""
        self._toggle("inspector")

    def toggle_lineage(self) -> None:
        """Show or hide the lineage."""
        self._toggle("lineage")

    def _toggle(self, name: str) -> None:
        state = self._desk.state
        if self.narrow:
            self.enter(name if self.level != name else "timeline")
            return
        on = not getattr(state, name)
        setattr(state, name, on)
        if not on and self.focused() == name:
            self.enter("timeline")
        self.apply()

    def reveal_inspector(self) -> None:
        """Make sure that the inspector can be seen."""
        if self.narrow:
            self.enter("inspector")
        elif not self._desk.state.inspector:
            self.toggle_inspector()

    def resize(self, sign: int) -> None:
        """Give the focused pane more (1) or less (-1) room; the sizes are remembered."""
        here = self.focused()
        if self.narrow or here is None:
            self._desk.say("On a narrow screen each pane has all the room.")
            return
        state, screen = self._desk.state, self._desk.screen
        width, height = screen.size.width, screen.size.height
        if here in ("sessions", "lineage"):
            now = state.left_width or screen.query_one("#left").outer_size.width
            state.left_width = max(_LEFT_MIN, min(width // 2, now + sign * _STEP["width"]))
            if here == "lineage":
                now = state.lineage_height or self._desk.lineage_tree.outer_size.height
                state.lineage_height = max(_HEIGHT_MIN, min(height // 2, now + sign * _STEP["height"]))
        elif self.wide:
            now = state.right_width or self._desk.inspector.outer_size.width
            delta = sign if here == "inspector" else -sign
            state.right_width = max(_RIGHT_MIN, min(width // 2, now + delta * _STEP["width"]))
        else:
            now = state.inspector_height or self._desk.inspector.outer_size.height
            delta = sign if here == "inspector" else -sign
            state.inspector_height = max(_HEIGHT_MIN, min(height - 12, now + delta * _STEP["height"]))
        self.apply()
