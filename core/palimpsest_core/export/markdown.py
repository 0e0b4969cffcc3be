"""A transcript as Markdown: structure is ours, everything from the log stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from palimpsest_core.base.printable import printable, printable_line
from palimpsest_core.export.page import Page, moment
from palimpsest_core.export.story import Entry, Part
from palimpsest_core.model.event import Surface

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=\s|$)")
_TICKS = re.compile("`+")
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|])")
_OUR_DEPTH = 3


def render(page: Page) -> Iterator[str]:
    """The transcript in pieces."""
    facts = page.facts
    yield f"# {_inline(facts.title) or 'Session without a title'}\n\n"
    for name, value in page.table():
        yield f"- **{name}:** {_code(value)}\n"
    yield "\n"
    inherited = False
    for entry in page.entries():
        if inherited and not entry.inherited:
            yield "\n---\n\n*Up to here inherited from the parent session.*\n"
        inherited = entry.inherited
        yield from _entry(page, entry)
    yield from _footer(page)


def _entry(page: Page, entry: Entry) -> Iterator[str]:
    if entry.aside:
        said = " ".join([part.text for part in entry.parts] + ([entry.note] if entry.note else []))
        yield f"\n*\\#{entry.seq} {_inline(entry.speaker)}* {_inline(said)}\n"
        return
    marks = [f"#{entry.seq}", moment(entry.time)]
    if page.everything and entry.surface is not Surface.CURRENT:
        marks.append(entry.surface.value)
    if entry.note:
        marks.append(entry.note)
    yield f"\n## {_inline(entry.speaker)}\n\n<sub>{_inline(' · '.join(marks))}</sub>\n\n"
    for part in entry.parts:
        yield _part(page, entry, part)


def _part(page: Page, entry: Entry, part: Part) -> str:
    text = printable(part.text)
    match part.kind:
        case "text" if entry.speaker.startswith("Result of"):
            return _fenced(text, "diff" if is_diff(text) else "")
        case "text":
            return prose(text) + "\n\n"
        case "reasoning":
            return "<details><summary>Reasoning</summary>\n\n" + prose(text) + "\n\n</details>\n\n"
        case "call":
            return f"Calls {_code(part.title)}:\n\n" + _fenced(page.arguments(part.text), "")
        case "image" | "file":
            return f"*[{part.kind}: {_inline(part.text or part.title)}]*\n\n"
    return prose(text) + "\n\n"


def prose(text: str) -> str:
    """Text that may be Markdown itself: its headings go below ours, HTML and pictures stay text, fences are closed."""
    out: list[str] = []
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            if match and match.group(1).startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            out.append(line)
        elif match:
            fence = match.group(1)
            out.append(line)
        else:
            line = _HEADING.sub(lambda m: m.group(1) + "#" * min(6, len(m.group(2)) + _OUR_DEPTH), line)
            out.append(_without_html(line).replace("![", "!\\["))
    if fence:
        out.append(fence)
    return "\n".join(out)


def _without_html(line: str) -> str:
    """`<` made text, except in inline code, where it is text already."""
    if "<" not in line:
        return line
    pieces: list[str] = []
    at = 0
    while (ticks := _TICKS.search(line, at)) is not None:
        close = re.compile(f"(?<!`){ticks.group()}(?!`)").search(line, ticks.end())
        end = close.end() if close else ticks.end()
        pieces.append(line[at : ticks.start()].replace("<", "&lt;"))
        pieces.append(line[ticks.start() : end])
        at = end
    pieces.append(line[at:].replace("<", "&lt;"))
    return "".join(pieces)


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n\n"


def _inline(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", printable_line(text)).strip()


def _code(text: str) -> str:
    text = printable_line(text).strip() or " "
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def is_diff(text: str) -> bool:
    """Whether text looks like a unified diff."""
    return text.startswith(("--- ", "diff ")) and "\n@@ " in text


def _footer(page: Page) -> Iterator[str]:
    if page.story.facts.findings:
        yield "\n---\n\n**Findings**\n\n"
        for finding in page.story.facts.findings:
            yield f"- {_inline(finding.code.value)}: {_inline(page.clean(finding.message))}\n"
    if page.redactor is not None:
        counts = page.redactor.counts
        yield "\n---\n\n**Redacted**\n\n"
        if not counts:
            yield "Nothing had to be replaced.\n"
            return
        yield "| kind | places |\n| --- | --- |\n"
        for kind, places in sorted(counts.items()):
            yield f"| {kind} | {places} |\n"
