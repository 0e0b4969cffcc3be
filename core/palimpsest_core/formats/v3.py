"""Generation 3 (0.1.5, 0.1.6): `startSeq`/`endSeq`, system messages on the surface, dispatches renamed to ptc."""

from __future__ import annotations

from palimpsest_core.formats import v2
from palimpsest_core.formats.generation import HEADER_ALWAYS, HEADER_MAYBE, Generation

SURFACE_TYPES = v2.GENERATION.surface_types | {"system/message"}

TYPES = (v2.TYPES - {"tool/code-dispatch-start", "tool/code-dispatch"}) | {
    "system/message",
    "tool/ptc-dispatch-start",
    "tool/ptc-dispatch",
    "deliverables/presented",
    "workspace/changes",
    "image/offload",
    "subagent/catalog",
}

GENERATION = Generation(3, HEADER_ALWAYS | {"isSeeded"}, HEADER_MAYBE, False, False, SURFACE_TYPES, TYPES)
