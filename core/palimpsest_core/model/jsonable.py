"""Records to plain JSON values, by the names of the contract."""

from __future__ import annotations

from typing import Any

import msgspec


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of all records: frozen, camelCase in JSON, a field that is absent stays absent."""


class JsonNull:
    """A null that was stored where a field is usually text: None would mean that the field is absent."""

    def __repr__(self) -> str:
        return "NULL"


NULL = JsonNull()
"""The one null of its kind."""


def _encode(value: Any) -> Any:
    if value is NULL:
        return None
    raise TypeError(f"{type(value).__name__} has no JSON form")


def to_json(record: Any) -> Any:
    """A detached plain JSON value (dict, list, str, int, float, bool, None) of a record or of a list of records.

    Text may hold lone surrogates and numbers may be infinite, exactly as logged; print it with
    `json.dumps(..., ensure_ascii=True)`.
    """
    return msgspec.to_builtins(record, enc_hook=_encode)


def detached(value: Any) -> Any:
    """A deep copy of a plain JSON value: changing it changes nothing elsewhere."""
    kind = type(value)
    if kind is dict:
        return {key: detached(item) for key, item in value.items()}
    if kind is list:
        return [detached(item) for item in value]
    return value
