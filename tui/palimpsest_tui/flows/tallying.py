"""What the search bar says at its right end."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from palimpsest_tui.reading.lines import Piece
from palimpsest_tui.widgets import numbers

if TYPE_CHECKING:
    from palimpsest_tui.flows.desk import Desk
    from palimpsest_tui.flows.finding import Finding
    from palimpsest_tui.reading.lines import Line


def bar_facts(desk: Desk, finding: Finding) -> Line:
    """Scope, which engine answered over how many sessions, and where `n` stands."""
    pieces: Line = []
    wide = desk.screen.size.width >= 100
    if finding.search.export_to is not None:
        pieces.append(Piece("enter exports the session", "bar--strong"))
    elif finding.has_phrase:
        if desk.screen.size.width >= 60:
            pieces.append(Piece(f"scope: {finding.scopes.scope.value}", "bar--dim"))
            if wide and desk.search_bar.input.has_focus:
                pieces.append(Piece(" (^t widens)", "bar--dim"))
            pieces.append(Piece("  "))
        if desk.screen.has_class("-wide") and len(finding.counts) > 1:
            told = (f"{scope.value.removeprefix('this ')} {numbers.exact(n)}" for scope, n in finding.counts.items())
            pieces.append(Piece(" · ".join(told) + "  ", "bar--dim"))
        pieces += _count_pieces(desk, finding, wide=wide)
    else:
        if finding.resolved.test is not None:
            left = len(finding.resolved.sessions(desk.listing.sessions))
            pieces.append(Piece(f"{numbers.plural(left, 'session')} left  ", "bar--dim"))
        if _only_of_events(finding):
            pieces.append(Piece("now words to look for in such events", "bar--strong"))
    return pieces


def _only_of_events(finding: Finding) -> bool:
    """Whether there are words that choose among events, and none to look for in these."""
    resolved = finding.resolved
    return bool(resolved.tools) or any(each["kind"] != "time" for each in resolved.event_filters)


def _count_pieces(desk: Desk, finding: Finding, *, wide: bool) -> Line:
    hits = finding.hits
    if hits is None:
        return [Piece("searching…", "bar--dim")]
    pieces: Line = []
    if finding.matches is not None and finding.matches[1]:
        seqs = finding.matches[1]
        index = desk.timeline.event_index
        log = finding.matches[0]
        seq = log.number_at(index) if index is not None and index < len(log) else -1
        place = bisect_left(seqs, seq)
        at = str(place + 1) if place < len(seqs) and seqs[place] == seq else "–"
        pieces.append(Piece(f"{at} of {numbers.exact(len(seqs))} in this session", "bar--strong"))
        pieces.append(Piece(" n/N", "bar--key"))
    else:
        more = "+" if hits.more else ""
        pieces.append(Piece(f"{numbers.plural(len(hits.hits), 'session')}{more}", "bar--strong"))
    indexed = desk.living.indexed()
    if wide or not hits.done or indexed is not None:
        over = numbers.plural(hits.sessions, "session")
        state = f"{hits.scanned} of {hits.sessions}" if not hits.done else f"over {over}"
        if indexed is not None:
            state = "over {} of {} logs".format(*map(numbers.exact, indexed))
        pieces.append(Piece(f"  {hits.engine} {state}", "bar--dim"))
    if finding.not_held is not None and finding.not_held is desk.opening.log:
        yet = " yet" if desk.living.indexed() is not None else ""
        pieces.append(Piece(f"  this session is not indexed{yet}", "bar--dim"))
    if hits.skipped:
        pieces.append(Piece(f"  {hits.skipped} skipped", "bar--bad"))
    return pieces
