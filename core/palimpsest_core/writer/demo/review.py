"""Demo project: a review with subagents three deep, and a fork of it."""

from __future__ import annotations

from palimpsest_core.writer.demo.calls import bash, edit, grep, read
from palimpsest_core.writer.demo.ledgerline import CWD
from palimpsest_core.writer.demo.script import Script


def money_rounding(start: int) -> list[Script]:
    """A review that delegates: reviewer, under it a searcher, under that a scribe; then a fork of the review."""
    s = Script("0198f4aa-rounding-review", start, CWD, model="deepseek-v4-pro")
    s.user(
        "Before the VAT change ships: review every place where we round money. I want a list of places that round before they sum, "
        "with the worst case in cents for each.",
        title="Review of money rounding before VAT change",
    )
    s.step(
        think="Large surface. Let me count the sites, then delegate the search with a narrow brief and keep the judgement here.",
        say="I'll count the call sites first, then have a reviewer collect the ones that matter.",
        calls=[
            grep(
                r"round\(|quantize\(",
                "ledgerline/vat.py:22\nledgerline/vat.py:58\nledgerline/lines.py:17\nledgerline/discounts.py:91\nledgerline/export.py:120\nledgerline/api/serializers.py:64\n… 31 more",
            )
        ],
    )
    brief = "List every call of round() or quantize() on money in ledgerline/, with the function it is in and whether a sum follows."
    s.wait(3)
    reviewer = s.subagent(
        "0198f4ab-rounding-sites",
        "collect rounding sites",
        persona="A reviewer who reports facts with file and line, no advice.",
    )
    reviewer.user(brief, idle=0.2)
    reviewer.step(
        say="37 call sites. The ones in the library first.",
        calls=[
            grep(
                "quantize",
                "vat.py:22: per_line_vat\nvat.py:58: total_vat\nlines.py:17: line_total\ndiscounts.py:91: apply_percentage",
            ),
            read(
                "ledgerline/vat.py",
                "def per_line_vat(line, rate):\n    return (line.net * rate).quantize(CENT, ROUND_HALF_EVEN)\n\n\ndef total_vat(lines, rate):\n    return sum(per_line_vat(l, rate) for l in lines)",
            ),
        ],
    )
    question = "Which serializers round an amount that is summed again by a caller? Answer with file:line only."
    searcher = reviewer.subagent("0198f4ac-serializer-walk", "walk the serializers")
    searcher.user(question, idle=0.2)
    searcher.step(
        calls=[
            grep(
                "to_cents",
                "api/serializers.py:64: InvoiceOut.total\napi/serializers.py:88: LineOut.gross\napi/reports.py:31: sum(l.gross for l in lines)",
            ),
        ]
    )
    sum_up = "For n lines each rounded half-even to a cent, what is the largest difference between the rounded sum and the sum rounded once?"
    scribe = searcher.subagent("0198f4ad-worst-case", "compute the worst case")
    scribe.user(sum_up, idle=0.2)
    scribe.step(
        think="Each line is off by at most half a cent; n lines give n/2 cents; rounding once gives another half cent.",
        say="At most n × 0.5 cent, plus 0.5 cent for the final rounding. For the 400-line invoices in the fixtures: 2.00 € plus half a cent.",
        calls=[
            bash(
                "python scripts/worst_case.py --lines 400", "lines=400 worst=2.00 EUR typical(p95)=0.17 EUR", seconds=9
            )
        ],
    )
    scribe.step(say="The script agrees: worst case 2.00 €, 95th percentile 0.17 €.")
    scribe.end()
    searcher.step(calls=[searcher.delegated(scribe, sum_up)])
    searcher.step(
        say="api/serializers.py:88 is rounded and summed again by api/reports.py:31. The worst case for 400 lines is 2.00 €."
    )
    searcher.end()
    reviewer.step(say="The API layer needs its own walk.", calls=[reviewer.delegated(searcher, question)])
    reviewer.step(
        say="Three places round before they sum: vat.py:22 (summed in total_vat), lines.py:17 (summed in invoice_total), api/serializers.py:88 (summed in reports.py:31)."
    )
    reviewer.end()
    s.step(calls=[s.delegated(reviewer, brief)])
    s.step(
        say=(
            "Three places round before they sum:\n\n"
            "1. `vat.py:22` `per_line_vat`, summed in `total_vat`: up to half a cent a line.\n"
            "2. `lines.py:17` `line_total`, summed in `invoice_total`: up to half a cent a line.\n"
            "3. `api/serializers.py:88`, summed again by the report: up to 2.00 € on the 400-line fixture.\n\n"
            "Number 2 is required by law here (each line is a legal amount). Numbers 1 and 3 are not."
        )
    )
    s.end()
    s.user("Change 1 and 3 to round once. Keep the old numbers behind a flag until January.", idle=900)
    s.approved("edit_file", "The agent wants to change ledgerline/vat.py.")
    s.step(
        think="The flag belongs in settings, default to the old behaviour until the date.",
        say="I'll put the flag in `settings.py` and round once when it is on.",
        calls=[
            edit(
                "ledgerline/vat.py",
                "    return sum(per_line_vat(l, rate) for l in lines)",
                "    if settings.ROUND_VAT_ONCE:\n        return (sum(l.net for l in lines) * rate).quantize(CENT, ROUND_HALF_EVEN)\n    return sum(per_line_vat(l, rate) for l in lines)",
                6,
            ),
            bash("pytest tests -q -k vat", "..................\n18 passed in 0.90s"),
        ],
    )
    s.step(
        say="Both places round once when `ROUND_VAT_ONCE` is set. The default is off; the release notes say that it turns on in January."
    )
    s.end()
    s.command("export", "", "Exported 4 sessions to dsh-session-0198f4aa-rounding-review.zip")
    fork = s.fork("0198f51b-rounding-alternative", s.time + 3_600_000, turns=1)
    fork.user(
        "Different idea: store line VAT in tenths of a cent and round only when printing. How invasive would that be?",
        idle=60,
    )
    fork.step(
        think="Column type change, API contract, and the accountant's export format.",
        say="Let me count who reads the column.",
        calls=[grep("vat_cents", "18 files, 64 matches", "ledgerline")],
    )
    fork.step(
        say=(
            "Invasive: 64 uses in 18 files, a column migration over 2.1 M rows, and the DATEV export is specified in whole cents, so it would still round. "
            "I'd stay with rounding once."
        )
    )
    fork.end()
    fork.rename("Alternative: tenths of a cent (rejected)")
    return [s, reviewer, searcher, scribe, fork]
