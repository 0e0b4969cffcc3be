"""Keys in the order they were typed, each for what the one before it led to.

Textual hands a key to the widget that has the focus and takes the next one at once. The first climbs from the widget to
the app, where its command runs and moves the focus; keys that came in one burst (a paste, a slow line, a busy machine)
would by then be on their way to the old focus, and the letters of a search would run as commands.
"""

from __future__ import annotations

import time
from collections import deque
from functools import partial
from typing import TypeVar

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.timer import Timer

_Result = TypeVar("_Result")

_LOST_S = 2.0
"""A key that has not come to rest after this long went to a widget that was taken away under it."""


class OrderedKeys(App[_Result]):
    """An app that takes up a key, or a pasted text, when the one before it has been handled, with all it led to."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[events.Key | events.Paste] = deque()
        self._since: float | None = None
        self._patience: Timer | None = None
        self._turn = 0

    @property
    def keys_rest(self) -> bool:
        """Whether every key that was typed has been handled."""
        return self._since is None and not self._waiting

    async def on_event(self, event: events.Event) -> None:
        """Hold a key back while another one is under way; drop it once the app was left."""
        if not isinstance(event, (events.Key, events.Paste)) or event.is_forwarded:
            await super().on_event(event)
        elif self._exit:
            event.stop()
        elif self._since is None:
            await self._take(event)
        else:
            self._waiting.append(event)
            if self._patience is None:
                self._patience = self.set_interval(_LOST_S / 4, self._look_after)

    async def _take(self, event: events.Key | events.Paste) -> None:
        self._since = time.monotonic()
        self._turn += 1
        target = self.focused or (self.screen if self.screen_stack else self)
        await super().on_event(event)
        self._climb(self._turn, target)

    def _climb(self, turn: int, node: MessagePump) -> None:
        """Follow the key upwards: what is asked of a node after the key came to it runs after it was handled there."""
        parent = node._parent
        then = partial(self._climb, turn, parent) if parent is not None and node is not self else None
        if not node.call_later(then or partial(self._settle, turn, 0)):
            self._settle(turn, 0)

    def _settle(self, turn: int, hop: int) -> None:
        """Let a change of the focus (a message to the app) and a new screen (its own first messages) come to rest."""
        if hop == 4:
            self.call_later(self._next, turn)
            return
        top: MessagePump = self.screen if self.screen_stack and hop % 2 else self
        if not top.call_later(self._settle, turn, hop + 1):
            self.call_later(self._next, turn)

    async def _next(self, turn: int) -> None:
        if turn != self._turn:
            return
        self._since = None
        if self._exit:
            self._waiting.clear()
        if self._waiting:
            await self._take(self._waiting.popleft())
        elif self._patience is not None:
            self._patience.stop()
            self._patience = None

    async def _look_after(self) -> None:
        if self._since is not None and time.monotonic() - self._since > _LOST_S:
            await self._next(self._turn)


__all__ = ["OrderedKeys"]
