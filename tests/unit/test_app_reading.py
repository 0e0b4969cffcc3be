"""Making events readable: lines, wrapping, Markdown, JSON, code; hostile text stays text."""

from __future__ import annotations

import json

import pytest
from rich.cells import cell_len

from palimpsest_core import printable
from palimpsest_tui.reading.code import diff_lines, looks_like_diff
from palimpsest_tui.reading.facts import spans
from palimpsest_tui.reading.json_lines import JsonDocument, NotLaidOut, lay_out
from palimpsest_tui.reading.lines import Document, FixedBlock, LongBlock, Piece, plain, text_of, wrap
from palimpsest_tui.reading.markdown import markdown_lines


def texts(lines: list[list[Piece]]) -> list[str]:
    return [text_of(line) for line in lines]


def test_lines_wrap_at_spaces_and_hang() -> None:
    assert texts(wrap(plain("one two three four"), 9, 2)) == ["one two", "  three", "  four"]


def test_words_longer_than_the_width_are_cut() -> None:
    assert texts(wrap(plain("abcdefghij"), 4)) == ["abcd", "efgh", "ij"]


def test_wide_characters_never_overflow() -> None:
    for line in wrap(plain("会话搜索功能很好用 and more 搜索"), 7):
        assert cell_len(text_of(line)) <= 7


def test_styles_survive_wrapping() -> None:
    first, second = wrap([Piece("aaa ", "x"), Piece("bbb", "y")], 4)
    assert first == [Piece("aaa", "x")]
    assert second == [Piece("bbb", "y")]


def test_a_long_block_has_every_line_of_its_text() -> None:
    block = LongBlock("a\n\nbcdefg\n", 4, wrapped=True)
    assert [text_of(block.line(number)) for number in range(len(block))] == ["a", "", "bcde", "fg"]


def test_a_long_block_without_wrapping_keeps_its_lines() -> None:
    block = LongBlock("x" * 100 + "\ny", 10, wrapped=False)
    assert len(block) == 2


def test_a_long_block_cuts_wide_text_by_cells() -> None:
    block = LongBlock("搜" * 7, 5, wrapped=True)
    assert [text_of(block.line(number)) for number in range(len(block))] == ["搜搜", "搜搜", "搜搜", "搜"]


def test_documents_find_the_line_in_the_right_block() -> None:
    document = Document([FixedBlock([plain("a")]), FixedBlock([]), FixedBlock([plain("b"), plain("c")])])
    assert [text_of(document.line(number)) for number in range(len(document))] == ["a", "b", "c"]


def test_markdown_becomes_lines() -> None:
    lines = texts(
        markdown_lines("# Head\n\nSome *text*\nnext\n\n- one\n- two\n  1. deep\n\n> said\n\n```py\nx = 1\n```", 40)
    )
    assert lines == ["# Head", "", "Some text", "next", "", "- one", "- two", "  1. deep", "", "│ said", "", "  x = 1"]


def test_tables_are_aligned() -> None:
    lines = texts(markdown_lines("|a|bb|\n|-|-|\n|ccc|d|", 40))
    assert lines == ["a   │ bb", "────┼───", "ccc │ d "]


@pytest.mark.parametrize(
    "source",
    [
        "&#27;[31mred &#x202e; &#0; &zwj;",
        "[link](javascript:alert(1)&#27;) ![x&#7;](y&#27;)",
        "`&#27;` <b>\x1b[0m</b>",
        "# a&#10;b&#27;",
        "[red]x[/ [link=https://example.org]y[/link]",
        ">" * 3000,
        "[" * 3000,
        "*" * 3000,
        "- " * 500 + "x",
        "|" * 300 + "\n" + "|-" * 300 + "|\n" + "|" * 300,
    ],
)
def test_markdown_never_lets_a_control_through_nor_fails(source: str) -> None:
    for line in markdown_lines(printable(source), 40):
        for piece in line:
            assert printable(piece.text) == piece.text
            assert "\n" not in piece.text


def test_json_is_laid_out_with_every_token_as_stored() -> None:
    stored = '{"a":1.0,"a":1e2,"b":["\\u0041",{}],"c":[],"d":{"e":null}}'
    rows = [("  " * row.depth + text_of(row.line)) for row in lay_out(stored)]
    assert rows == [
        "{",
        '  "a": 1.0,',
        '  "a": 1e2,',
        '  "b": [',
        '    "\\u0041",',
        "    {}",
        "  ],",
        '  "c": [],',
        '  "d": {',
        '    "e": null',
        "  }",
        "}",
    ]
    assert "".join(text_of(row.line).replace(": ", ":") for row in lay_out(stored)) == stored


def test_keys_and_strings_are_told_apart() -> None:
    styles = {piece.text: piece.style for row in lay_out('{"k":"v","l":["w"]}') for piece in row.line}
    assert styles['"k"'] == "json--key"
    assert styles['"v"'] == "json--string"
    assert styles['"w"'] == "json--string"


@pytest.mark.parametrize("stored", ["{", "{]", '{"a":', "]", "[" * 1000 + "]" * 1000, '"' + "x" * 500_000 + '"'])
def test_what_is_no_json_or_too_much_is_refused(stored: str) -> None:
    with pytest.raises(NotLaidOut):
        lay_out(stored)


def test_objects_fold_and_open_again() -> None:
    stored = json.dumps({"a": {"b": 1, "c": 2}, "d": 3})
    document = JsonDocument([plain("head")], lay_out(stored), stored)
    whole = [text_of(document.line(number)) for number in range(len(document))]
    at = next(number for number, line in enumerate(whole) if '"a"' in line)
    assert document.fold(at) is False
    assert len(document) == len(whole) - 3
    assert "… 2" in text_of(document.line(at))
    assert document.fold(at) is True
    assert [text_of(document.line(number)) for number in range(len(document))] == whole


def test_diffs_are_told_by_their_signs() -> None:
    text = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same"
    assert looks_like_diff(text)
    assert [line[0].style for line in diff_lines(text)][3:] == ["text--removed", "text--added", ""]
    assert not looks_like_diff("- a list\n- of things")


def test_runs_of_seqs_are_told_shortly() -> None:
    assert spans([3, 12, 13, 14]) == "3, 12..14"
    assert spans(list(range(0, 40, 2))) == "20 events in 0..38"
