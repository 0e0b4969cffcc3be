"""Keys in the order they were typed, each for what the one before it led to.

Textual hands a key to the widget that has the focus and takes the next one at once. The first climbs from the widget to
the app, where its command runs and moves the focus; keys that came in one burst (a paste, a slow line, a busy machine)
would by then be on their way to the old focus, and the letters of a search would run as commands.

What a key does may take a while, such as going to a hit that is still searched for. The keys behind it then wait too,
except those that lead out of there, and not for long: what was typed for a place that did not come is done nowhere.

A key that only moves the cursor of the widget with the focus leads to nothing else: its action runs at once. So many
presses of a key held down cost one paint, not one way through all widgets each.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import ClassVar, TypeVar

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.timer import Timer
from textual.widget import Widget

_Result = TypeVar("_Result")
_Typed = events.Key | events.Paste

_LOST_S = 2.0
"""A key that has not come to rest after this long went to a widget that was taken away under it."""


class MovesCursor(Widget):
    """A widget with a cursor."""

    MOTIONS: ClassVar[tuple[str, ...]] = ()
    """How the actions begin that do nothing but move it."""


class OrderedKeys(App[_Result]):
    """An app that takes up a key, or a pasted text, when the one before it has been handled, with all it led to."""

    WAY_OUT: ClassVar[frozenset[str]] = frozenset()
    """Actions whose keys never wait until something is settled."""

    def __init__(self) -> None:
        super().__init__()
        self._settled: Callable[[], bool] | None = None
        self._waiting: deque[_Typed] = deque()
        self._at: _Typed | None = None
        self._since = 0.0
        self._patience: Timer | None = None
        self._motions_of: Widget | None = None
        self._motions: dict[str, str] = {}

    @property
    def keys_rest(self) -> bool:
        """Whether every key that was typed has been handled, or waits until something is settled."""
        return self._settled is not None or (self._at is None and not self._waiting)

    @property
    def keys_wait(self) -> bool:
        """Whether keys that were typed wait until something is settled."""
        return self._settled is not None and bool(self._waiting)

    def hold(self, settled: Callable[[], bool]) -> None:
        """Let the keys behind the one under way wait until something is settled; `look_on` asks whether it is."""
        if self._at is not None and not settled():
            self._settled = settled

    def look_on(self) -> None:
        """Something happened: let the keys go on if it settled what they wait for."""
        if self._settled is not None and self._settled():
            self._settled = None
            if self._at is not None:
                self._handled(self._at)

    def _let_go(self, event: _Typed) -> None:
        """Wait no longer when it took too long, or for a key that leads out: the keys between are for nowhere."""
        if self._settled is not None and (self._lost() or self._leads_out(event)):
            self._settled = self._at = None
            self._waiting.clear()

    def _lost(self) -> bool:
        return time.monotonic() - self._since > _LOST_S

    def _leads_out(self, event: _Typed) -> bool:
        active = self.screen.active_bindings.get(event.key) if isinstance(event, events.Key) else None
        return active is not None and active.binding.action in self.WAY_OUT

    async def on_event(self, event: events.Event) -> None:
        """Hold a key back while another one is under way; drop it once the app was left."""
        if not isinstance(event, (events.Key, events.Paste)):
            await super().on_event(event)
        elif event.is_forwarded:  # it climbed up to here: its command runs now
            await super().on_event(event)
            self._handled(event)
        elif self._exit:
            event.stop()
        else:
            self.look_on()
            self._let_go(event)
            if self._at is None:
                await self._take(event)
                return
            self._waiting.append(event)
            if self._patience is None:
                self._patience = self.set_interval(_LOST_S / 4, self._look_after)

    async def _take(self, event: _Typed) -> None:
        if (motion := self._motion(event)) is not None:
            event.stop()
            await self.run_action(motion, self.focused)
            return
        self._at, self._since = event, time.monotonic()
        target = self.focused or self._top
        await super().on_event(event)
        if not event.is_forwarded or not target.call_later(self._passed, event):
            self._handled(event)

    def _motion(self, event: _Typed) -> str | None:
        """The action of a key that only moves the cursor of the widget with the focus."""
        focused = self.focused
        if not isinstance(event, events.Key) or not isinstance(focused, MovesCursor) or not self.app_focus:
            return None
        if focused is not self._motions_of:
            self._motions_of = focused
            self._motions = {
                key: active.binding.action
                for key, active in self.screen.active_bindings.items()
                if active.node is focused and active.enabled and active.binding.action.startswith(focused.MOTIONS)
            }
        return self._motions.get(event.key)

    def _passed(self, event: _Typed) -> None:
        """The widget with the focus has seen the event: it stopped it there, or lets it climb."""
        if event._stop_propagation:
            self._handled(event)

    def _handled(self, event: _Typed) -> None:
        """Its command ran. A change of the focus is a message to the app that comes before this one."""
        self.call_later(self._focused, event)

    async def _focused(self, event: _Typed) -> None:
        """The screen first takes what the command sent it, a new one its first messages: they may move the focus."""
        if not self._top.call_later(self.call_later, self._next, event):
            await self._next(event)

    async def _next(self, event: _Typed) -> None:
        if event is not self._at or self._settled is not None:
            return
        self._at = None
        if self._exit:
            self._waiting.clear()
        while self._waiting and self._at is None:
            await self._take(self._waiting.popleft())
        if self._at is not None:
            return
        if self._patience is not None:
            self._patience.stop()
            self._patience = None

    async def _look_after(self) -> None:
        lost = self._lost()
        if lost and self._settled is not None:
            self._settled = None
            self._waiting.clear()
        if self._at is not None and (lost or self._at._stop_propagation):
            await self._next(self._at)

    @property
    def _top(self) -> MessagePump:
        return self.screen if self.screen_stack else self


__all__ = ["MovesCursor", "OrderedKeys"]
