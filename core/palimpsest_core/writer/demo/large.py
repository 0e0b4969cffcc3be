"""One long session: a bulk conversion, file after file, with compactions on the way."""

from __future__ import annotations

from palimpsest_core.writer.demo.calls import bash, edit, read
from palimpsest_core.writer.demo.script import Script

_MODULES = (
    "accounts", "addresses", "audit", "banking", "calendar", "contracts", "countries", "credit", "currency", "customers",
    "deliveries", "discounts", "documents", "dunning", "exports", "forecasts", "holidays", "imports", "inventory", "ledger",
    "mailings", "margins", "orders", "payments", "pricing", "products", "quotas", "receipts", "refunds", "reports",
)  # fmt: skip
_FLAWS = (
    (
        "an implicit Optional",
        "def load(id: str, at: date = None):",
        "def load(id: str, at: date | None = None) -> Record:",
    ),
    ("a dict that is really a record", "def totals(rows) -> dict:", "def totals(rows: Iterable[Row]) -> Totals:"),
    ("a bare list", "def pending() -> list:", "def pending() -> list[Entry]:"),
    ("Any leaking out of the driver", "def fetch(sql, *args):", "def fetch(sql: str, *args: SqlValue) -> list[Row]:"),
    (
        "a callback without a type",
        "def on_change(callback):",
        "def on_change(callback: Callable[[Change], None]) -> Unsubscribe:",
    ),
)


def typing_campaign(start: int) -> Script:
    """Strict typing for thirty modules, four turns each, compacted now and then: a few thousand events."""
    s = Script("0198a001-strict-typing", start, "/home/mira/code/ledgerline", model="deepseek-v4-pro")
    for number, module in enumerate(_MODULES):
        prompt = (
            "Make the package pass mypy --strict, one module at a time, in alphabetical order. Commit after each. Start with accounts."
            if number == 0
            else f"Looks right. Next: {module}."
        )
        s.user(prompt, title="mypy --strict, module by module" if number == 0 else None, idle=90)
        flaw, old, new = _FLAWS[number % len(_FLAWS)]
        errors = 3 + (number * 7) % 11
        s.step(
            think=f"{module} first: count the errors, then look for the pattern behind them.",
            calls=[
                bash(
                    f"mypy --strict ledgerline/{module}.py | tail -1",
                    f"Found {errors} errors in 1 file (checked 1 source file)",
                    seconds=6,
                )
            ],
        )
        s.step(
            say=f"{errors} errors, most of them from {flaw}.",
            calls=[
                read(
                    f"ledgerline/{module}.py",
                    f"{old}\n    ...\n\n\ndef {module}_by_id(id):\n    return _cache.get(id) or load(id)",
                ),
                edit(f"ledgerline/{module}.py", old, new, 1),
            ],
        )
        s.step(
            calls=[
                bash(
                    f"mypy --strict ledgerline/{module}.py | tail -1",
                    "Success: no issues found in 1 source file",
                    seconds=5,
                ),
                bash(
                    f"pytest -q tests/test_{module}.py",
                    f"{'.' * (9 + number % 13)}\n{9 + number % 13} passed",
                    seconds=3,
                ),
                bash(f"git commit -qam 'Type {module} strictly'", ""),
            ]
        )
        s.step(
            say=f"`{module}` passes: {errors} errors fixed, {flaw} was the main cause. Behaviour is unchanged; {9 + number % 13} tests pass."
        )
        s.end()
        if number % 9 == 8:
            surface = s.surface()
            done = ", ".join(_MODULES[: number + 1])
            s.compact(
                surface[0],
                surface[-2],
                f"Strict typing, module by module. Done so far: {done}. Each was committed on its own; tests pass. Recurring causes: implicit Optional, bare containers, untyped callbacks.",
            )
    return s
