"""How the timeline draws the rows at and behind a log's damage. Pure."""

from __future__ import annotations

from palimpsest_core import LANE_FIRST, LANE_SECOND, Event, Gist, SecondLook, gist, printable_line
from palimpsest_core.model.health import CODE_WORDS

_TEXT_MAX = 400
_CELLS = {LANE_FIRST: "1· ", LANE_SECOND: "·2 "}


def lane_cell(look: SecondLook, index: int) -> str:
    """The three cells that tell whose a row is where two writers overlap; nothing elsewhere in the log."""
    if not look.two_lanes or not look.contested.start <= index < look.stop:
        return ""
    return _CELLS.get(look.lane(index), "?? ")


_PACKED = {"text-chunks": "texts", "reasoning-chunks": "texts", "tool-call-chunks": "args"}


def raw_gist(event: Event) -> Gist:
    """A withheld row in one line. A packed one, which never was unfolded, tells which numbers it claims."""
    key = _PACKED.get(event.type)
    pieces = event.data.get(key) if key is not None and isinstance(event.data, dict) else None
    if not isinstance(pieces, list) or not pieces:
        return gist(event)
    text = "".join(piece for piece in pieces if isinstance(piece, str))[:_TEXT_MAX]
    claimed = "" if event.seq < 0 else f"claims {event.seq} to {event.seq + len(pieces) - 1}: "
    return Gist("chunks", claimed + printable_line(text))


def refused_text(look: SecondLook, found: Gist) -> Gist:
    """The refused row: why it was refused, then what it says."""
    finding = look.finding
    says = found.text if found.text.startswith(found.label) else f"{found.label} {found.text}"
    if finding is None:
        return Gist("refused", says)
    places = (("line", finding.line), ("byte", finding.byte_offset))
    where = next((f", {word} {place:,}" for word, place in places if place is not None), "")
    return Gist("refused", f"{CODE_WORDS[finding.code]}{where} │ {says}")
