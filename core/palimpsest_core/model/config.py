"""The engine's configuration (spec: engine contract, section 8)."""

from __future__ import annotations

from typing import Any

import msgspec

from palimpsest_core.base.errors import ErrorCode, SessionQueryError


class Config(msgspec.Struct, frozen=True, rename="camel"):
    """Checked settings; `parse_config` makes one from JSON."""

    open_at: str = "startup"
    journal_mode: str = "wal"
    default_limit: int = 20
    max_limit: int = 100
    snippet_chars: int = 240
    read_window_max: int = 50
    persisted_inspect_concurrency: int = 4
    mode: str = "tolerant"
    extractors: str = "full"
    compression: str = "zstd"
    tokenizer: str = "unicode61"
    store_text: bool = True
    window_max_bytes: int = 128 << 20
    row_max_bytes: int = 256 << 20


_CHOICES = {
    "openAt": ("startup", "first-search", "never"),
    "journalMode": ("wal", "delete", "truncate", "persist"),
    "mode": ("strict", "tolerant"),
    "extractors": ("reference", "full"),
    "compression": ("zstd", "none"),
    "tokenizer": ("unicode61", "unicode61-cjk"),
}
_LEAST = {
    "defaultLimit": 1,
    "maxLimit": 1,
    "snippetChars": 1,
    "readWindowMax": 0,
    "persistedInspectConcurrency": 1,
    "windowMaxBytes": 1024,
    "rowMaxBytes": 1024,
}


def _bad(key: str, wanted: str) -> SessionQueryError:
    return SessionQueryError(ErrorCode.INVALID_CONFIG, f"The setting {key} must be {wanted}.")


def parse_config(raw: dict[str, Any], *, mode: str = "tolerant") -> Config:
    """Check `raw` (camelCase keys) and fill in defaults.

    `mode` is the default mode; `extractors` follows the mode unless given. Raises `INVALID_CONFIG` naming the key.
    """
    values: dict[str, Any] = {}
    for key, value in raw.items():
        if key in _CHOICES:
            if value not in _CHOICES[key] or not isinstance(value, str):
                raise _bad(key, "one of " + ", ".join(_CHOICES[key]))
        elif key in _LEAST:
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, bool) or not isinstance(value, int) or value < _LEAST[key]:
                raise _bad(key, f"an integer of at least {_LEAST[key]}")
        elif key == "storeText":
            if not isinstance(value, bool):
                raise _bad(key, "true or false")
        else:
            raise SessionQueryError(ErrorCode.INVALID_CONFIG, f"The setting {key} is not known.")
        values[key] = value
    values.setdefault("mode", mode)
    values.setdefault("extractors", "reference" if values["mode"] == "strict" else "full")
    config = msgspec.convert(values, Config)
    if config.default_limit > config.max_limit:
        raise _bad("defaultLimit", "no larger than maxLimit")
    return config


APP_CONFIG = Config(tokenizer="unicode61-cjk")
"""What an engine, the indexer's process and so the app, the commands and the tools use unless told otherwise: tolerant,
with Chinese, Japanese and Korean text found by any run of characters. They share it because an index has one
fingerprint, and must not be rebuilt by whoever comes next."""
