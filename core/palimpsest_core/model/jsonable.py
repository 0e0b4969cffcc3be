"""Records to plain JSON values, by the names of the contract."""

from __future__ import annotations

from typing import Any

import msgspec


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of all records: frozen, camelCase in JSON, a field that is absent stays absent."""


def to_json(record: Any) -> Any:
    """A detached plain JSON value (dict, list, str, int, float, bool, None) of a record or of a list of records.

    Text may hold lone surrogates and numbers may be infinite, exactly as logged; print it with
    `json.dumps(..., ensure_ascii=True)`.
    """
    return msgspec.to_builtins(record)


def detached(value: Any) -> Any:
    """A deep copy of a plain JSON value: changing it changes nothing elsewhere."""
    kind = type(value)
    if kind is dict:
        return {key: detached(item) for key, item in value.items()}
    if kind is list:
        return [detached(item) for item in value]
    return value
