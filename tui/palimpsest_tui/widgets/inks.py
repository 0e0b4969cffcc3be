"""Component styles that are worked out when a widget first draws with them.

Textual works out all that a widget names, each time its style changes: at the start, that was a quarter of the time to
the first list, for dozens of styles of which a screen shows a few.
"""

from __future__ import annotations

from textual.css.styles import RenderStyles
from textual.dom import DOMNode
from textual.widget import Widget


class Inked(Widget):
    """A widget that draws with component classes of the style sheet without naming them beforehand."""

    def get_component_styles(self, *names: str) -> RenderStyles:
        """The styles of component classes. A class without a rule adds nothing."""
        for name in names:
            if name not in self._component_styles:
                part = DOMNode(classes=name)
                part._attach(self)
                self.app.stylesheet.apply(part)
                self._component_styles[name] = part.styles
        return super().get_component_styles(*names)

    def notify_style_update(self) -> None:
        """Another theme, another class: what was worked out may look different now."""
        super().notify_style_update()
        self._component_styles.clear()
