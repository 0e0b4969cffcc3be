"""Generation 4 (0.1.7, 0.2.0): tool messages without wrapper, developer messages, no plugin sources. Newer numbers
are dialects of this one and are read on the same path."""

from __future__ import annotations

from palimpsest_core.formats import v3
from palimpsest_core.formats.generation import HEADER_ALWAYS, HEADER_MAYBE, Generation

SURFACE_TYPES = v3.SURFACE_TYPES | {"developer/message"}

TYPES = v3.TYPES | {"developer/message"}

GENERATION = Generation(4, HEADER_ALWAYS | {"isSeeded"}, HEADER_MAYBE, False, False, SURFACE_TYPES, TYPES)
