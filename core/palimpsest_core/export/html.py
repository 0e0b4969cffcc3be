"""A transcript as one self-contained HTML file: no script, nothing loaded from anywhere, all foreign text escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape

from palimpsest_core.base.printable import printable, printable_line
from palimpsest_core.export.markdown import is_diff
from palimpsest_core.export.page import Page, moment
from palimpsest_core.export.story import Entry, Part

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #888; --mark: #b8860b; --plus: #1a7f37; --minus: #cf222e; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1rem; margin: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; }
article { border-top: 1px solid var(--line); padding: .8rem 0; } article.user h2 { color: var(--mark); }
article.shadowed, article.log-only { opacity: .65; } .where { color: var(--dim); font-size: .8rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .4rem 0; font: inherit; unicode-bidi: plaintext; }
pre.code { font: 13px/1.45 ui-monospace, monospace; background: #8881; padding: .6rem; border-radius: 4px; }
details { color: var(--dim); } .plus { color: var(--plus); } .minus { color: var(--minus); } img { max-width: 100%; }
.cut { text-align: center; color: var(--dim); }
table { border-collapse: collapse; } td, th { padding: 0 .8rem 0 0; text-align: left; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(page: Page) -> Iterator[str]:
    """The transcript in pieces."""
    facts = page.facts
    title = escape(printable_line(facts.title) or "Session without a title")
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<dl>\n"
    )
    for name, value in page.table():
        yield f"<dt>{escape(name)}</dt><dd>{escape(printable_line(value))}</dd>\n"
    yield "</dl>\n"
    inherited = False
    for entry in page.entries():
        if inherited and not entry.inherited:
            yield '<p class="cut">Up to here inherited from the parent session.</p>\n'
        inherited = entry.inherited
        yield from _entry(page, entry)
    yield from _footer(page)
    yield "</body>\n</html>\n"


def _entry(page: Page, entry: Entry) -> Iterator[str]:
    if entry.aside:
        said = " ".join([entry.speaker, *(part.text for part in entry.parts), entry.note])
        yield f'<div class="where" id="e{entry.seq}">#{entry.seq} {escape(printable_line(said))}</div>\n'
        return
    kinds = [entry.surface.value, "user" if entry.speaker == "User" else "other"]
    marks = [moment(entry.time)]
    if page.everything:
        marks.append(entry.surface.value)
    if entry.note:
        marks.append(entry.note)
    yield f'<article id="e{entry.seq}" class="{" ".join(kinds)}">\n<h2>{escape(printable_line(entry.speaker))}</h2>\n'
    where = escape(printable_line(" · ".join(marks)))
    yield f'<div class="where"><a href="#e{entry.seq}">#{entry.seq}</a> {where}</div>\n'
    for part in entry.parts:
        yield from _part(page, entry, part)
    yield "</article>\n"


def _part(page: Page, entry: Entry, part: Part) -> Iterator[str]:
    text = printable(part.text)
    match part.kind:
        case "text" if entry.speaker.startswith("Result of"):
            yield _code(text)
        case "reasoning":
            yield f"<details><summary>Reasoning</summary><pre>{escape(text)}</pre></details>\n"
        case "call":
            yield f"<div>Calls <code>{escape(printable_line(part.title))}</code></div>"
            yield _code(page.arguments(part.text))
        case "image" | "file":
            yield from _attachment(page, part)
        case _:
            yield f"<pre>{escape(text)}</pre>\n"


def _attachment(page: Page, part: Part) -> Iterator[str]:
    name = escape(printable_line(part.text or part.title))
    content = page.image(part.title) if part.kind == "image" else None
    if content is None:
        yield f"<p>[{part.kind}: {name}]</p>\n"
        return
    media_type, data = content
    yield f'<p><img alt="{name}" src="data:{media_type};base64,'
    yield base64.b64encode(data).decode("ascii")
    yield '"></p>\n'


def _code(text: str) -> str:
    if not is_diff(text):
        return f'<pre class="code">{escape(text)}</pre>\n'
    lines = []
    for line in text.split("\n"):
        kind = {"+": "plus", "-": "minus"}.get(line[:1], "")
        lines.append(f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line))
    return '<pre class="code">' + "\n".join(lines) + "</pre>\n"


def _footer(page: Page) -> Iterator[str]:
    if page.story.facts.findings:
        yield "<h2>Findings</h2>\n<ul>\n"
        for finding in page.story.facts.findings:
            message = printable_line(page.clean(finding.message))
            yield f"<li>{escape(finding.code.value)}: {escape(message)}</li>\n"
        yield "</ul>\n"
    if page.redactor is not None:
        counts = page.redactor.counts
        yield "<h2>Redacted</h2>\n"
        if not counts:
            yield "<p>Nothing had to be replaced.</p>\n"
            return
        rows = "".join([f"<tr><td>{kind}</td><td>{places}</td></tr>\n" for kind, places in sorted(counts.items())])
        yield f"<table>\n<tr><th>kind</th><th>places</th></tr>\n{rows}</table>\n"
