"""Every generation's sample log, folded, cut, closed and read for text: the table of the session format, section 12."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest_core.formats.reader import ReadLog, read_log
from palimpsest_core.log.gist import gist
from palimpsest_core.log.lineage import inherited_cut, lineage_of
from palimpsest_core.log.loose import documents
from palimpsest_core.log.messages import is_checkpoint, is_human_prompt
from palimpsest_core.log.repair import closers
from palimpsest_core.log.surface import fold_events
from palimpsest_core.log.text import FULL, REFERENCE
from palimpsest_core.log.titles import current_title, is_inherited
from palimpsest_core.log.turns import turns_of
from palimpsest_core.model.config import Config
from palimpsest_core.model.header import Header
from palimpsest_core.model.session import Lineage
from palimpsest_core.storage.layout import LogFile

SAMPLES = Path(__file__).parents[1] / "data" / "samples"

SURFACES = {
    0: [4, 21, 26, 32],
    1: [28, 12, 24],
    2: [14, 17],
    3: [13, 3, 5, 12, 15, 19],
    4: [2, 3, 5, 6, 8, 13, 15, 20],
    5: [2, 11],
}
CUTS = {0: None, 1: 9, 2: None, 3: 8, 4: 7, 5: None}
KINDS = {
    0: Lineage.ORDINARY,
    1: Lineage.FORK,
    2: Lineage.ORDINARY,
    3: Lineage.SUBAGENT_FORKED,
    4: Lineage.FORK,
    5: Lineage.ORDINARY,
}
TITLES = {1: "Branch: docs for BILLING_V2", 4: "Linter retry", 5: "Nightly build check"}


def sample(generation: int) -> tuple[Header, ReadLog]:
    (path,) = (SAMPLES / f"v{generation}").iterdir()
    log = read_log(LogFile.at(path), config=Config())
    assert log.header is not None
    return log.header.header, log


@pytest.mark.parametrize("generation", range(6))
def test_the_surface_is_the_documented_one(generation: int) -> None:
    header, log = sample(generation)
    fold = fold_events(log.events, header.version)
    assert fold.surface == SURFACES[generation]
    assert not fold.unreliable


@pytest.mark.parametrize("generation", range(6))
def test_the_inherited_prefix_is_cut_where_the_log_says(generation: int) -> None:
    header, log = sample(generation)
    assert inherited_cut(header, log.events) == CUTS[generation]
    assert lineage_of(header) is KINDS[generation]


@pytest.mark.parametrize("generation", range(6))
def test_a_finished_log_needs_no_closers(generation: int) -> None:
    header, log = sample(generation)
    assert closers(log.events, header.version) == []
    assert all(turn.last_seq is not None for turn in turns_of(log.events))


@pytest.mark.parametrize("generation", range(6))
def test_every_event_has_a_line_of_its_own(generation: int) -> None:
    _, log = sample(generation)
    for event in log.events:
        label, text = gist(event, 60)
        assert 0 < len(label) <= 7
        assert len(text) <= 60
        assert "\n" not in text


@pytest.mark.parametrize(("generation", "title"), TITLES.items())
def test_the_last_title_is_in_force(generation: int, title: str) -> None:
    header, log = sample(generation)
    found = current_title(log.events)
    assert found is not None
    assert found.title == title
    assert not is_inherited(found, inherited_cut(header, log.events))


@pytest.mark.parametrize("generation", range(6))
def test_what_the_contract_finds_is_found_by_the_full_set_too(generation: int) -> None:
    _, log = sample(generation)
    full = dict(documents(log.events, FULL))
    for seq, text in documents(log.events, REFERENCE):
        assert text in full[seq]


def test_a_failed_attempt_is_found_though_no_message_holds_its_text() -> None:
    _, log = sample(1)
    full = dict(documents(log.events, FULL))
    assert full[14] == "I will start with"
    assert 19 not in full, "the second attempt was settled"


@pytest.mark.parametrize(("generation", "seq"), [(1, 28), (2, 14), (5, 11)])
def test_a_compacted_history_is_no_human_prompt(generation: int, seq: int) -> None:
    _, log = sample(generation)
    assert is_checkpoint(log.events[seq])
    assert not is_human_prompt(log.events[seq])
