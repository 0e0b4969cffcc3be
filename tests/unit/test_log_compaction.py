"""What a compaction is made of, and what it forgot."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import SessionQueryError
from palimpsest_core.log.compaction import compactions_of
from palimpsest_core.log.forgotten import forgotten
from palimpsest_core.model.event import Event


def log(*rows: tuple[str, Any]) -> list[Event]:
    return [Event(kind, seq, 0, data) for seq, (kind, data) in enumerate(rows)]


def checkpoint(**source: Any) -> tuple[str, Any]:
    return "user/message", {"content": [], "source": source}


def test_a_group_is_put_together_by_its_id() -> None:
    index = compactions_of(
        log(
            ("compaction/start", {"compactionId": "a"}),
            ("compaction/summary", {"compactionId": "a", "shadowedSeqs": [3, "x", 5.0], "shadowedTokenCount": 90}),
            checkpoint(kind="compact-checkpoint", compactionId="a"),
            ("compaction/end", {"compactionId": "a"}),
            ("compaction/start", {"compactionId": "b"}),
            ("compaction/end", {"compactionId": "b", "error": "no room"}),
            ("compaction/prune", {"shadowedSeqs": [7]}),
        )
    )
    done, failed = index.compactions
    assert (done.start_seq, done.summary_seq, done.checkpoint_seq, done.end_seq) == (0, 1, 2, 3)
    assert (done.shadowed, done.tokens, done.failed) == ([3, 5], 90, False)
    assert (failed.checkpoint_seq, failed.failed, failed.error) == (None, True, "no room")
    assert index.of(2) is done
    assert index.of(5) is failed
    assert index.of(6) is None
    assert [(prune.seq, prune.shadowed, prune.tokens) for prune in index.prunes] == [(6, [7], None)]


def test_old_groups_without_ids_are_put_together_by_order() -> None:
    index = compactions_of(
        log(
            ("compact/start", {}),
            ("compact/summary", {"summary": []}),
            checkpoint(kind="plugin", plugin="compact"),
            ("compact/end", None),
            checkpoint(kind="plugin", plugin="compact"),
        )
    )
    first, lone = index.compactions
    assert (first.start_seq, first.summary_seq, first.checkpoint_seq, first.end_seq) == (0, 1, 2, 3)
    assert (lone.start_seq, lone.checkpoint_seq) == (None, 4)


def say(text: str) -> tuple[str, Any]:
    return "user/message", {"content": [{"type": "text", "text": text}]}


def test_only_what_stands_nowhere_any_more_is_forgotten() -> None:
    removed = log(
        say("Look at src/app/main.py and README.md, port 8080, about 1,250 rows in 35 ms."),
        ("tool/call", {"name": "shell", "arguments": '{"command": "make \\"all\\"\\nmake test"}'}),
        ("tool/result", {"message": {"content": [{"type": "text", "text": "$ ls\nTypeError: x is None\nfine"}]}}),
    )
    facts = forgotten(removed, log(say("We edited src/app/main.py; the server has port 18080.")))
    assert facts.paths == ["README.md"]
    assert facts.commands == ['make "all" make test', "ls"]
    assert facts.errors == ["TypeError: x is None"]
    assert facts.numbers == ["8080", "1,250", "35 ms"]
    assert not forgotten(removed, removed)


def test_a_hostile_text_costs_no_more_than_its_length() -> None:
    nasty = ["a" * 300_000, "a/" * 150_000, "1" * 300_000, "Error" * 60_000, "@." * 150_000, "x" * 99 + "\n" * 200_000]
    forgotten(log(*map(say, nasty)), [])


def test_looking_for_facts_can_be_cancelled() -> None:
    token = CancelToken()
    token.set()
    with pytest.raises(SessionQueryError, match="cancelled"):
        forgotten(log(say("x")), [], token)
