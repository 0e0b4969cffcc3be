"""The trace of an event: every link a line to go along. Reads the log; run it in a worker."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from palimpsest_core import gist, printable_line, session_links
from palimpsest_tui.reading.lines import Document, FixedBlock, Link, Piece, plain
from palimpsest_tui.widgets.badges import BADGE, BADGE_STYLE
from palimpsest_tui.widgets.cells import clip, fit

if TYPE_CHECKING:
    from palimpsest_core import CancelToken, Gist, OpenLog, SessionLink
    from palimpsest_core.model.event import Surface
    from palimpsest_tui.reading.facts import Facts
    from palimpsest_tui.reading.lines import Line

_SHOWN_MAX = 500


_SESSION_WORDS = {
    "reference": "recalls",
    "sender": "sent by",
    "catalog": "child, says the parent",
    "agent": "started agent",
    "member": "team member",
    "target": "sent to",
    "delivery": "delivered from",
}


def trace_document(
    log: OpenLog,
    facts: Facts,
    head: Sequence[Line],
    width: int,
    cancel: CancelToken,
    known: Collection[str] = (),
) -> Document:
    """Replaced by and its chain, replaces, cites, cited by; one line an event, each with its gist.

    Below them the sessions that the event names; a jump where `known` holds them.
    """
    lines: list[Line] = [*head, []]
    links: dict[int, Link] = {}
    copied: list[str] = []
    chain = log.replacement_chain(facts.seq) if facts.seq >= 0 else []
    cited_by = log.cited_by(facts.seq, cancel) if facts.seq >= 0 else []
    groups = (
        ("replaced by", chain, "The first of these took its place, the next one took the place of that, and so on."),
        ("replaces", facts.replaces, ""),
        ("cites", facts.sources, ""),
        ("cited by", cited_by, ""),
    )
    for title, seqs, note in groups:
        lines.append([Piece(f"{title}  ", "text--heading"), Piece(str(len(seqs)) if seqs else "—", "line--dim")])
        if len(seqs) > 1 and note:
            lines.append(plain("  " + clip(note, width - 2), "line--dim"))
        for seq in seqs[:_SHOWN_MAX]:
            cancel.raise_if_set()
            links[len(lines)] = Link(seq)
            copied.append(f"{title} {seq}")
            lines.append(_link_line(log, seq, width))
        if len(seqs) > _SHOWN_MAX:
            lines.append(plain(f"  and {len(seqs) - _SHOWN_MAX} more", "line--dim"))
        lines.append([])
    named = [link for link in session_links(log.event(facts.at)) if link.session_id != log.session_id]
    if named:
        lines.append([Piece("sessions it names  ", "text--heading"), Piece(str(len(named)), "line--dim")])
        for link in named[:_SHOWN_MAX]:
            if link.session_id in known:
                links[len(lines)] = Link(None, link.session_id)
            copied.append(f"{link.kind} {link.session_id}")
            lines.append(_session_line(link, link.session_id in known, width))
        lines.append([])
    first = min(links, default=len(head) + 1)
    return Document([FixedBlock(lines)], links=links, copy_text="\n".join(copied), has_cursor=True, first_line=first)


def _link_line(log: OpenLog, seq: int, width: int) -> Line:
    index = log.index_of_seq(seq)
    if index is None:
        return [Piece(f"  {seq}", "badge--error"), Piece("  there is no such event in this log", "badge--error")]
    surface: Surface = log.row(index).surface
    found: Gist = gist(log.event(index))
    seq_text = f"  {seq} "
    label = fit(found.label, 7) + " "
    room = width - len(seq_text) - 2 - len(label)
    return [
        Piece(seq_text, "text--link"),
        Piece(BADGE[surface] + " ", BADGE_STYLE[surface]),
        Piece(label, BADGE_STYLE[surface]),
        Piece(clip(found.text, room)),
    ]


def _session_line(link: SessionLink, known: bool, width: int) -> Line:
    """Another session: how it is named, its id and label, up to where it was taken."""
    word = _SESSION_WORDS.get(link.kind, link.kind)
    parts = [printable_line(link.label)] if link.label else []
    if link.seq is not None:
        parts.append(f"up to {link.seq} as its log was then")
    if not known:
        parts.append("not in this root")
    session_id = printable_line(link.session_id)
    note = "  " + " · ".join(parts) if parts else ""
    room = max(8, width - len(word) - 4)
    return [
        Piece(f"  {word} "),
        Piece(clip(session_id, room), "text--link" if known else "line--dim"),
        Piece(clip(note, max(0, room - len(session_id))), "line--dim"),
    ]
