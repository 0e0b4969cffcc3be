"""The format generations side by side: what each allows (session format, sections 3, 4 and 6).

A generation is decoded natively, by the number in its header; numbers above 4 are read like 4, best effort.
"""

from __future__ import annotations

from palimpsest_core.formats import v0, v1, v2, v3, v4
from palimpsest_core.formats.generation import Generation

GENERATIONS: tuple[Generation, ...] = (v0.GENERATION, v1.GENERATION, v2.GENERATION, v3.GENERATION, v4.GENERATION)
NEWEST = GENERATIONS[-1].number
"""The highest generation that is known."""

KNOWN_TYPES: frozenset[str] = frozenset().union(*[g.types for g in GENERATIONS])
"""Every event type that some generation knows: nobody needs a warning about these."""


def generation(version: int) -> Generation:
    """The rules for a header's version; the newest known ones for any other number."""
    return GENERATIONS[version] if 0 <= version <= NEWEST else GENERATIONS[NEWEST]


def is_known(version: int) -> bool:
    """Whether a version is one of those read by their own rules."""
    return 0 <= version <= NEWEST


def newer_reason(version: int) -> str | None:
    """Why a log is only read as far as possible: one sentence, None for a known version."""
    if is_known(version):
        return None
    who = "Written by a newer harness" if version > NEWEST else "Of no known kind"
    return f"{who} (format {version}); read as far as possible."
