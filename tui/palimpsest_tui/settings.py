"""Settings (a TOML file that a person writes) and state (what the app remembers by itself)."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from platformdirs import user_config_path, user_state_path

_APP = "palimpsest"


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the settings file may hold. Every key is optional."""

    theme: str = "palimpsest-dark"
    root: str | None = None
    index: str | None = None
    resume_command: str = "dsh --resume {id}"
    """How a session is resumed; `{id}` is its id, quoted for the shell. It runs in the session's directory."""
    editor: str | None = None
    """Opens an event in place of the pager."""
    ascii_borders: bool = False
    active_minutes: int = 10
    """How long after its last growth a log with an open turn counts as active."""
    keys: dict[str, str] = {}
    """Command ids to keys, such as `"turn.next" = "t"`; the help shows the ids."""


class State(msgspec.Struct):
    """What the app remembers between runs."""

    seen_roots: list[str] = []
    left_width: int = 0
    right_width: int = 0
    lineage_height: int = 0
    inspector_height: int = 0
    inspector: bool = True
    lineage: bool = True
    sort: str = "activity"
    grouping: str = "tree"
    scope: str = "everything"
    searches: list[str] = []
    marks: dict[str, list[int]] = {}


class Loaded(msgspec.Struct, frozen=True):
    """Settings and what was wrong with their file."""

    settings: Settings
    problems: list[str]


def settings_path() -> Path:
    """Where the settings file is, whether or not it exists."""
    return user_config_path(_APP) / "settings.toml"


def state_path() -> Path:
    """Where the app keeps its state."""
    return user_state_path(_APP) / "state.json"


def load_settings(path: Path | None = None) -> Loaded:
    """Read the settings file. What is wrong with it is told, and the default used instead."""
    path = settings_path() if path is None else path
    try:
        written = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Loaded(Settings(), [])
    except (OSError, UnicodeDecodeError) as error:
        return Loaded(Settings(), [f"The settings file cannot be read ({error}); the defaults are used."])
    import tomllib  # most people have no such file

    try:
        raw = tomllib.loads(written)
    except tomllib.TOMLDecodeError as error:
        return Loaded(Settings(), [f"The settings file cannot be read ({error}); the defaults are used."])
    values: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in raw.items():
        try:
            msgspec.convert({key: value}, Settings)
        except msgspec.ValidationError as error:
            problems.append(f"Setting {key}: {error}.")
        else:
            values[key] = value
    return Loaded(msgspec.convert(values, Settings), problems)


def load_state(path: Path | None = None) -> State:
    """Read the state; a missing or broken file is an empty state."""
    path = state_path() if path is None else path
    try:
        return msgspec.convert(json.loads(path.read_text(encoding="utf-8")), State)
    except (OSError, ValueError, msgspec.ValidationError):
        return State()


def save_state(state: State, path: Path | None = None) -> None:
    """Write the state beside its file and rename it. Raises OSError."""
    path = state_path() if path is None else path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".state-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(state))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
