"""The values that filter words can take in this root, for completion and for the filter menu. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from palimpsest_core import LABELS
from palimpsest_tui.searching.words import IS_VALUES
from palimpsest_tui.widgets.session_rows import project_name

if TYPE_CHECKING:
    from palimpsest_core.model.session import SessionSummary

_IDS_MAX = 2_000


def vocabulary(sessions: Sequence[SessionSummary]) -> dict[str, list[str]]:
    """Known values of each kind, the most frequent first."""
    projects = Counter(name for session in sessions if (name := project_name(session)))
    models = Counter(session.model for session in sessions if session.model)
    parents = Counter(session.parent for session in sessions if session.parent)
    return {
        "project": [name for name, _ in projects.most_common()],
        "model": [name for name, _ in models.most_common()],
        "parent": [name for name, _ in parents.most_common(_IDS_MAX)],
        "id": [session.id for session in sessions[:_IDS_MAX]],
        "type": sorted(LABELS),
        "is": list(IS_VALUES),
        "since": ["today", "yesterday", "7d", "30d"],
        "until": ["today", "yesterday", "7d", "30d"],
    }
