"""What all windows over the main screen share: they close with escape and stand in a frame with a title."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.types import CSSPathType

from palimpsest_tui.keys import Where, bindings

Result = TypeVar("Result")


class Window(ModalScreen[Result]):
    """A window; closing it gives None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.DIALOG)
    CSS_PATH: ClassVar[CSSPathType | None] = "window.tcss"
    AUTO_FOCUS = "LineList, Input"

    @property
    def there(self) -> bool:
        """Whether its widgets are there: it is on the stack before they are, and for a moment after they went.

        Answers come at any time; what they tell a window that is not there is dropped.
        """
        return self._is_mounted and self.is_attached and not self._pruning

    def hear(self, sentence: str) -> None:
        """What is said in the status line while this window stands over it; only a window that hides it needs it."""
        del sentence

    def action_close(self) -> None:
        """Close the window."""
        self.dismiss(None)
