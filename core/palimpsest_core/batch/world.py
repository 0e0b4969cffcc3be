"""The world of one job: its root, its engine, who calls the tools. Control operations change it between requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from palimpsest_core.base.errors import SessionQueryError
from palimpsest_core.engine import Engine
from palimpsest_core.live.store import SessionStore
from palimpsest_core.model.config import parse_config
from palimpsest_core.writer.store import JsonlStore


class Refused(Exception):
    """A control operation that is refused; it has no code."""


class World:
    """One engine over one root, opened again by `$reopen`. Close it at the end."""

    def __init__(self, root: str, index_path: str, config: dict[str, Any]) -> None:
        self.root = Path(root)
        self.index_path = index_path
        self.settings = dict(config)
        self.caller: str | None = None
        self._engine: Engine | None = None
        self._problem: SessionQueryError | None = None
        self.open()

    def open(self) -> None:
        """Open the engine on the settings in force; a failure is kept and answers every request."""
        self._problem = None
        engine_settings = dict(self.settings)
        mounted = bool(engine_settings.pop("mounted", True))
        engine_settings.pop("tools", None)
        # To the reference a null is an absent setting (but for `mounted`, where it is a no).
        given = {key: value for key, value in engine_settings.items() if value is not None}
        try:
            config = parse_config(given, mode="strict")
            # The delay before background writes counts as endless, so that no answer depends on the clock.
            store = SessionStore(window_seconds=None)
            self._engine = Engine(
                self.root, index=self.index_path, config=config, store=store, mounted=mounted, fold_inherited=False
            )
            if mounted:
                store.mount(JsonlStore(self.root, config=config))
        except SessionQueryError as error:
            self._engine = None
            self._problem = error

    def reopen(self, changes: dict[str, Any]) -> None:
        """Close everything, merge `changes` into the settings and open again on the same index."""
        self.close()
        self.settings |= changes
        self.open()
        if self._problem is not None:
            raise self._problem

    def engine(self) -> Engine:
        """The open engine. Raises what kept it from opening."""
        if self._engine is None:
            assert self._problem is not None
            raise self._problem
        return self._engine

    def live(self) -> SessionStore:
        """The live sessions of the open engine."""
        store = self.engine().store
        assert store is not None
        return store

    def mount(self) -> None:
        """Bring the durable store back; returns when all that live sessions hold is written."""
        engine = self.engine()
        self.live().mount(JsonlStore(self.root, config=engine.config))
        engine.mount()

    def unmount(self) -> None:
        """Write what live sessions hold, then take the durable store away."""
        self.live().unmount()
        self.engine().unmount()

    def close(self) -> None:
        """Dispose every live session, which writes what it holds, and close the engine."""
        if self._engine is not None:
            store = self.live()
            store.dispose_all()
            if store.mounted is not None:
                store.unmount()
            self._engine.close()
            self._engine = None

    def inside(self, path: Any) -> Path:
        """`path` below the root. Refuses to leave it."""
        if not isinstance(path, str) or not path:
            raise Refused("The path must be a text below the root.")
        place = (self.root / path).resolve()
        if not place.is_relative_to(self.root.resolve()) or place == self.root.resolve():
            raise Refused(f"The path {path} leads out of the root.")
        return self.root / path
