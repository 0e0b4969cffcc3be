"""Generation 1: the layout of generation 0, without its older shapes. No released build is known to write it."""

from __future__ import annotations

from palimpsest_core.formats import v0
from palimpsest_core.formats.generation import HEADER_ALWAYS, HEADER_MAYBE, Generation

TYPES = v0.REFERENCE_TYPES | v0.LATE_TYPES

GENERATION = Generation(1, HEADER_ALWAYS, HEADER_MAYBE | {"seedLength"}, True, False, v0.SURFACE_TYPES, TYPES)
