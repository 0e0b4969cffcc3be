"""Letters that carry meaning: first the letter, then the weight, then the colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palimpsest_core import ailment_of
from palimpsest_core.model.event import Surface
from palimpsest_core.model.session import SessionState

if TYPE_CHECKING:
    from palimpsest_core.model.session import SessionSummary

BADGE: dict[Surface, str] = {Surface.CURRENT: "C", Surface.SHADOWED: "S", Surface.LOG_ONLY: "L", Surface.WITHHELD: "W"}
"""What the model sees of an event: C now, S no longer, L never."""

BADGE_STYLE: dict[Surface, str] = {
    Surface.CURRENT: "badge--current",
    Surface.SHADOWED: "badge--shadowed",
    Surface.LOG_ONLY: "badge--log",
    Surface.WITHHELD: "badge--withheld",
}
WITHHELD = "W"
"""The badge of a row that the log's own rules withhold: it never became an event."""

STATE_MARK: dict[SessionState, str] = {
    SessionState.COMPLETE: " ",
    SessionState.ACTIVE: "*",
    SessionState.INTERRUPTED: "~",
    SessionState.DAMAGED: "!",
    SessionState.NEWER: "^",
    SessionState.UNREADABLE: "x",
}
"""The mark in front of a session: active, interrupted, damaged, written by a newer harness, unreadable."""

STATE_STYLE: dict[SessionState, str] = {
    SessionState.ACTIVE: "state--active",
    SessionState.INTERRUPTED: "state--interrupted",
    SessionState.DAMAGED: "state--damaged",
    SessionState.NEWER: "state--newer",
    SessionState.UNREADABLE: "state--damaged",
}
NEWEST_KNOWN = 4
"""The newest format that is read by rules of its own; later ones go by its rules as far as they fit."""

ODD = "?"
"""The mark of a session whose log is sound and has something odd about it: see the health screen."""


def mark_of(session: SessionSummary) -> str:
    """The mark in front of a session."""
    mark = STATE_MARK[session.state]
    return ODD if mark == " " and is_odd(session) else mark


def is_odd(session: SessionSummary) -> bool:
    """Whether there is something to say about a session's log, or a newer format lies beside it unread."""
    if session.findings and ailment_of(session.findings) is not None:
        return True
    beside = session.generations or ()
    return len(beside) > 1 and max(beside) > NEWEST_KNOWN


_BAD = frozenset({SessionState.UNREADABLE, SessionState.DAMAGED, SessionState.NEWER})


def is_ailing(session: SessionSummary) -> bool:
    """Whether the list knows of trouble with a session's log."""
    return session.state in _BAD or is_odd(session)


STATE_WORD: dict[SessionState, str] = {
    SessionState.COMPLETE: "complete",
    SessionState.ACTIVE: "active",
    SessionState.INTERRUPTED: "interrupted",
    SessionState.DAMAGED: "damaged",
    SessionState.NEWER: "newer format",
    SessionState.UNREADABLE: "unreadable",
}

LEGEND: tuple[tuple[str, str], ...] = (
    ("C", "current: the model sees it now"),
    ("S", "shadowed: the model saw it, something replaced it"),
    ("L", "log-only: the model never saw it"),
    ("W", "withheld: a row after damage that never became an event"),
    ("─", "in the timeline: a boundary (compaction, shortened result, fork cut, resume; a refused row)"),
    ("1· ·2", "two writers overlap: the first one's rows, the second one's; % goes between them"),
    ("??", "between two writers: a row whose number fits neither"),
    ("*", "a marked event; a session that is active: its log grows"),
    ("~", "an event made up to close an open turn; a session whose last turn is open"),
    ("!", "damaged: readable up to the damage"),
    ("^", "written by a newer harness"),
    ("x", "cannot be read"),
    ("?", "sound, with something odd: H says what"),
    ("fork:", "a session that was branched off another one and took its history over"),
    ("sub:", "a subagent that started afresh"),
    ("fsub:", "a subagent that took its parent's history over"),
    ("15+90", "15 events of its own, 90 inherited (15+: there is no room for the second number)"),
    ("+3 =2", "beside a hit: three more events of that session match; two sessions carry the same event"),
    ("v3 of v0 v3", "two files of one session, in two formats; the one in v3 is shown, V opens the other"),
    ("24 + 0", "on the health screen: rows of a log that are shown, and rows withheld after the damage"),
    ("[+] [-]", "a folded run of rows, opened with l and closed with h"),
    ("[%]", "it replaced earlier events: l shows them in place, % goes to them"),
)
"""Every letter and mark with its meaning, for the help."""
