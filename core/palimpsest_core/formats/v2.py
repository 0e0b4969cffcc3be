"""Generation 2 (0.1.3): no chunk events any more, streams embedded in messages and attempts, `isSeeded`."""

from __future__ import annotations

from palimpsest_core.formats import v0, v1
from palimpsest_core.formats.generation import HEADER_ALWAYS, HEADER_MAYBE, Generation

TYPES = (v1.TYPES - {"assistant/chunk"}) | {"assistant/attempt", "feedback/message-put", "feedback/message-delete"}

GENERATION = Generation(2, HEADER_ALWAYS | {"isSeeded"}, HEADER_MAYBE, False, False, v0.SURFACE_TYPES, TYPES)
