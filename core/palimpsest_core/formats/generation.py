"""What one format generation allows, as data."""

from __future__ import annotations

import msgspec

HEADER_ALWAYS = frozenset({"type", "version", "id", "createdAt", "delegationDepth"})
HEADER_MAYBE = frozenset({"cwd", "parentSession", "origin", "agentPreset"})


class Generation(msgspec.Struct, frozen=True):
    """The rules of a generation.

    `header_required` and `header_optional` are header keys. `packed`: whether packed chunk rows occur. `old_shapes`:
    whether the old message shapes do. `surface_types` may stand on the surface, `types` are all event types it knows.
    """

    number: int
    header_required: frozenset[str]
    header_optional: frozenset[str]
    packed: bool
    old_shapes: bool
    surface_types: frozenset[str]
    types: frozenset[str]
