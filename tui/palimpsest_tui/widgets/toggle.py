"""A choice that is on or off: `[•] 4 descendants`."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from palimpsest_tui.widgets.cells import clip


class Toggle(Widget, can_focus=True):
    """Space or a click turns it over."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "turn", "Turn over", show=False)]
    DEFAULT_CSS = """
    Toggle { height: 1; width: auto; }
    Toggle:focus { background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold; }
    """

    class Turned(Message):
        """It was turned over."""

        def __init__(self, toggle: Toggle, on: bool) -> None:
            super().__init__()
            self.toggle = toggle
            self.on = on

        @property
        def control(self) -> Toggle:
            """The toggle."""
            return self.toggle

    def __init__(self, label: str, on: bool, *, id: str) -> None:
        super().__init__(id=id)
        self.label = label
        self.on = on

    def get_content_width(self, container: object, viewport: object) -> int:
        """The box and the label."""
        return len(self.label) + 4

    def set_label(self, label: str) -> None:
        """Another label."""
        if label != self.label:
            self.label = label
            self.refresh(layout=True)

    def action_turn(self) -> None:
        """Turn it over."""
        self.on = not self.on
        self.refresh()
        self.post_message(self.Turned(self, self.on))

    def on_click(self) -> None:
        """A click turns it over."""
        self.focus()
        self.action_turn()

    def render_line(self, y: int) -> Strip:
        """The line."""
        base = self.rich_style
        text = f"[{'•' if self.on else ' '}] {self.label}"
        segments = [Segment(clip(text, self.size.width), base)] if y == 0 else []
        return Strip(segments).adjust_cell_length(self.size.width, base or Style.null())
