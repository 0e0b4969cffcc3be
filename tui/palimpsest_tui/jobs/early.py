"""The start: the first sessions are looked up, and the engine made, so that the first list waits for neither."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from palimpsest_core import index_path
from palimpsest_core.model.config import APP_CONFIG

if TYPE_CHECKING:
    from palimpsest_core import Engine, FirstLook

_NEWEST = 100
"""Enough for the tallest terminal."""

Early: TypeAlias = "Future[FirstLook | None]"


def look_early(root: Path | None, index: Path | str | None) -> Early:
    """Start to look into the index, beside the loading of everything else; a person who leaves waits for nothing."""
    early: Early = Future()
    if root is None:
        early.set_result(None)
        return early

    def look() -> None:
        from palimpsest_core import first_look

        try:
            early.set_result(first_look(index_path(root, index), root, _NEWEST))
        except Exception as error:  # whatever it is: the list is read the long way, which tells people
            early.set_exception(error)

    threading.Thread(target=look, name="first look", daemon=True).start()
    return early


class _LateEngine:
    """An engine that is loaded and opened when it is first asked for more than where things are."""

    def __init__(self, root: Path | None, index: Path | str | None) -> None:
        self.root = root
        self.index = index
        self.index_path = index_path(root, index)
        self.config = APP_CONFIG
        self._making = threading.Lock()
        self._engine: Engine | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)

    def _made(self) -> Engine:
        with self._making:
            if self._engine is None:
                from palimpsest_core import Engine

                self._engine = Engine(self.root, index=self.index)
            return self._engine

    def close(self) -> None:
        """Give back what is held, if anything is."""
        with self._making:
            if self._engine is not None:
                self._engine.close()


def late_engine(root: Path | None, index: Path | str | None) -> Engine:
    """An engine, made by the first worker that asks it something: a quarter of the time to the first list."""
    return cast("Engine", _LateEngine(root, index))
