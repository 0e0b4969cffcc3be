"""Demo project: an invoicing service in Python. Bug hunts, a migration, everyday questions."""

from __future__ import annotations

from palimpsest_core.writer.demo.calls import Call, bash, edit, grep, read
from palimpsest_core.writer.demo.script import Script

CWD = "/home/mira/code/ledgerline"

_REFUND_TEST = """def test_partial_refund_keeps_the_remainder(client, clock):
    invoice = client.create_invoice(lines=[("consulting", 12_000), ("travel", 340)])
    client.pay(invoice.id, 12_340)
    refund = client.refund(invoice.id, 340)
    assert refund.remainder == 12_000
    assert client.balance(invoice.id) == 12_000"""

_REFUND_CODE = """class RefundService:
    def __init__(self, ledger, clock):
        self._ledger = ledger
        self._clock = clock

    def refund(self, invoice_id, amount):
        entries = self._ledger.entries(invoice_id)
        paid = sum(e.amount for e in entries if e.kind == "payment")
        last = max(entries, key=lambda e: e.booked_at)
        if last.kind == "refund" and last.booked_at == self._clock.now():
            return Refund.duplicate(last)
        remainder = paid - amount
        self._ledger.book(invoice_id, "refund", -amount, self._clock.now())
        return Refund(invoice_id, amount, remainder)"""


def flaky_refund(start: int) -> Script:
    """A flaky test is traced to equal timestamps, fixed and covered."""
    s = Script("0198f2c4-refund-flake", start, CWD)
    s.user(
        "test_partial_refund_keeps_the_remainder fails about one run in twenty on CI, never on my laptop. "
        "Please find out why before you change anything.",
        title="Flaky partial refund test",
    )
    s.step(
        think="A rare failure that depends on the machine smells like time or ordering. Read the test, then the service.",
        say="I'll read the test and the refund service first.",
        calls=[
            read("tests/test_refunds.py", _REFUND_TEST),
            read("ledgerline/refunds.py", _REFUND_CODE),
        ],
    )
    s.todos(
        ("in_progress", "Find the cause of the flake"),
        ("pending", "Fix it"),
        ("pending", "Cover it with a test that fails every time"),
    )
    s.step(
        think=(
            "max(entries, key=booked_at): with equal timestamps max returns the first, which is the payment, not the refund. "
            "If the clock has millisecond resolution and CI is fast, payment and refund share a timestamp. "
            "Then the duplicate check compares against the wrong entry. Verify by running it many times with a frozen clock."
        ),
        say="Two entries booked in the same millisecond would make `max` pick the wrong one. Let me prove that with a frozen clock.",
        calls=[
            bash(
                "pytest tests/test_refunds.py -q --count 200 -p no:randomly --frozen-clock",
                "F" * 20 + "\n...\nE   assert 12340 == 12000\n200 failed in 3.41s",
                fails=True,
            ),
            grep(
                "booked_at",
                "ledgerline/refunds.py:9: last = max(entries, key=lambda e: e.booked_at)\nledgerline/ledger.py:41: order_by(Entry.booked_at)\nledgerline/export.py:77: sorted(rows, key=lambda r: r.booked_at)",
            ),
        ],
    )
    s.step(
        say='With a frozen clock it fails every time, so the cause is the tie. I\'ll order by (booked_at, id), which is what the ledger means by "last".',
        calls=[
            edit(
                "ledgerline/refunds.py",
                "last = max(entries, key=lambda e: e.booked_at)",
                "last = max(entries, key=lambda e: (e.booked_at, e.id))",
                9,
            ),
            edit("ledgerline/ledger.py", "order_by(Entry.booked_at)", "order_by(Entry.booked_at, Entry.id)", 41),
            bash("pytest tests -q", "........................................................\n56 passed in 2.02s"),
        ],
    )
    s.todos(
        ("completed", "Find the cause of the flake"),
        ("completed", "Fix it"),
        ("in_progress", "Cover it with a test that fails every time"),
    )
    s.step(
        calls=[
            edit(
                "tests/test_refunds.py",
                "def test_partial_refund_keeps_the_remainder(client, clock):",
                'def test_refund_in_the_same_millisecond_as_its_payment(client, frozen_clock):\n    invoice = client.create_invoice(lines=[("travel", 340)])\n    client.pay(invoice.id, 340)\n    assert client.refund(invoice.id, 340).remainder == 0\n\n\ndef test_partial_refund_keeps_the_remainder(client, clock):',
            ),
            bash("pytest tests/test_refunds.py -q --count 500", "500 passed in 8.77s"),
        ],
    )
    s.todos(
        ("completed", "Find the cause of the flake"),
        ("completed", "Fix it"),
        ("completed", "Cover it with a test that fails every time"),
    )
    s.step(
        say=(
            "The flake came from two ledger entries with the same `booked_at`: `max` then returned the payment instead of the refund. "
            "Both queries now break ties by entry id, and a new test books payment and refund in the same millisecond.\n\n"
            "Not verified: `ledgerline/export.py:77` sorts by `booked_at` alone as well. It only affects the order of exported rows, so I left it."
        )
    )
    s.end()
    s.user("Good catch. Fix export.py too, same rule, and run the export golden tests.", idle=300)
    s.step(
        calls=[
            edit(
                "ledgerline/export.py",
                "sorted(rows, key=lambda r: r.booked_at)",
                "sorted(rows, key=lambda r: (r.booked_at, r.id))",
                77,
            ),
            bash("pytest tests/golden -q", "........\n8 passed in 0.61s"),
        ]
    )
    s.step(say="Done: the export sorts by (booked_at, id) and all eight golden files still match.")
    s.end()
    return s


def migration_stuck(start: int) -> Script:
    """A long migration session: errors, a retry, a compaction in the middle, a pruned result."""
    s = Script("0198e1d0-entries-migration", start, CWD)
    s.user(
        "The migration 0042_split_entries has been running for 40 minutes on staging. Is it stuck?",
        title="Migration 0042 stuck on staging",
    )
    s.step(
        say="I'll look at what it waits for.",
        calls=[
            bash(
                "psql $STAGING -c \"select pid, wait_event_type, wait_event, state, left(query, 60) from pg_stat_activity where datname='ledger'\"",
                " pid  | wait_event_type |  wait_event   | state  |             left\n"
                "------+-----------------+---------------+--------+--------------------------------------\n"
                " 4182 | Lock            | relation      | active | ALTER TABLE entries ADD COLUMN split\n"
                " 3977 |                 |               | idle in transaction | SELECT * FROM entries WHERE",
            ),
        ],
    )
    noisy = "\n".join(
        f"2026-07-{d:02d} 03:{m:02d}:11 LOG  checkpoint complete: wrote {900 + 7 * m} buffers"
        for d in range(1, 9)
        for m in range(0, 60, 6)
    )
    s.step(
        think="pid 3977 is idle in transaction and holds the lock. Find who that is.",
        calls=[
            bash(
                'psql $STAGING -c "select pid, application_name, xact_start from pg_stat_activity where pid=3977"',
                " 3977 | report-worker-2 | 2026-07-08 01:12:44+00",
            ),
            read("var/log/postgres.log", noisy),
        ],
    )
    log_result = s.results()[-1]
    s.step(
        say="The migration waits for `report-worker-2`, which has been idle in a transaction since 01:12. It is safe to end that backend: the report job retries.",
        calls=[
            bash(
                "psql $STAGING -c 'select pg_terminate_backend(3977)'",
                "ERROR:  must be a member of the role whose process is being terminated",
                fails=True,
            )
        ],
    )
    s.prune(log_result, "2026-07-01 03:00:11 LOG  checkpoint complete\n[78 similar lines omitted]")
    s.step(
        say="I have no right to end that backend. Someone with the `ledger_owner` role must run:\n\n```sql\nselect pg_terminate_backend(3977);\n```"
    )
    s.end()
    first = s.surface()[0]
    s.user("Done, it went through. Now write the backfill so that it never holds a lock that long again.", idle=420)
    s.step(
        say="I'll backfill in batches of 5,000 by primary key, each in its own transaction, with a lock timeout.",
        calls=[
            edit(
                "migrations/0043_backfill_split.py",
                'def upgrade():\n    op.execute("UPDATE entries SET split = compute_split(id)")',
                "BATCH = 5_000\n\n\ndef upgrade():\n    last = 0\n    while True:\n        with op.get_bind().begin():\n            op.execute(\"SET LOCAL lock_timeout = '2s'\")\n            last = backfill(after=last, limit=BATCH)\n        if last is None:\n            return",
            ),
            bash(
                "pytest tests/test_migrations.py -q",
                "E   sqlalchemy.exc.OperationalError: lock timeout\n1 failed, 11 passed",
                fails=True,
            ),
        ],
    )
    s.retry("upstream connect error or disconnect/reset before headers", "SERVICE_UNAVAILABLE", 503)
    s.step(
        think="The test holds a lock on purpose. The backfill must retry the batch after a lock timeout.",
        say="The test holds a lock on purpose, and it is right: a batch that times out must be tried again, not fail the migration.",
        calls=[
            edit(
                "migrations/0043_backfill_split.py",
                "            last = backfill(after=last, limit=BATCH)",
                "            last = retrying(backfill, after=last, limit=BATCH)",
            ),
            bash("pytest tests/test_migrations.py -q", "............\n12 passed in 5.12s"),
        ],
    )
    s.end()
    last = s.surface()[-1]
    s.compact(
        first,
        last,
        "Migration 0042 was blocked by report-worker-2 (idle in transaction); the backend was ended by the user and 0042 finished. "
        "Backfill 0043 now runs in batches of 5,000 rows with a 2 s lock timeout and retries a batch that times out; 12 migration tests pass. "
        "Open: nobody monitors idle-in-transaction backends.",
    )
    s.user(
        "Add a check to the health endpoint that warns about transactions idle for more than ten minutes.", idle=1500
    )
    s.step(
        calls=[
            edit(
                "ledgerline/health.py",
                "CHECKS = [database, queue]",
                "CHECKS = [database, queue, idle_transactions]",
                12,
            ),
            bash(
                "curl -s localhost:8080/health | jq .",
                '{\n  "database": "ok",\n  "queue": "ok",\n  "idle_transactions": "ok"\n}',
            ),
        ]
    )
    s.step(
        say="The health endpoint warns when a transaction has been idle for more than ten minutes, and names the application that holds it."
    )
    s.end()
    return s


def quick_questions(start: int) -> list[Script]:
    """Short everyday sessions."""
    a = Script("0198f60c-invoice-pdf", start, CWD)
    a.user("Where do we set the font of the invoice PDF?", title="Font of the invoice PDF")
    a.step(
        calls=[
            grep(
                "font",
                'ledgerline/pdf/style.py:8: BODY = "Source Serif"\nledgerline/pdf/style.py:9: MONO = "JetBrains Mono"',
            )
        ]
    )
    a.step(
        say="In `ledgerline/pdf/style.py`, lines 8 and 9: the body is Source Serif, amounts are set in JetBrains Mono."
    )
    a.end()
    b = Script("0198f7e2-dunning-mail", start + 5_400_000, CWD)
    b.user(
        "Draft the second dunning mail. Friendly, three sentences, with the amount and the due date as placeholders.",
        title="Second dunning mail",
    )
    b.step(
        say=(
            "Dear {name},\n\nour invoice {number} over {amount} was due on {due_date} and we have not seen a payment yet. "
            "If it is on its way, please ignore this message. Otherwise we would be glad to receive it within the next seven days."
        )
    )
    b.end()
    b.user("Shorter. And no 'we would be glad'.", idle=50)
    b.step(
        say="Dear {name},\n\ninvoice {number} over {amount} was due on {due_date}. If your payment is on its way, thank you; if not, please send it within seven days."
    )
    b.end()
    c = Script("0198f801-deploy-key", start + 9_000_000, CWD)
    c.user("Rotate the deploy key for staging.", title="Rotate the staging deploy key")
    c.step(
        say="I'll check how the key is stored before touching it.",
        calls=[
            Call(
                "bash",
                {"command": "vault kv get secret/staging/deploy"},
                "Error making API request.\nCode: 403. Errors:\n* permission denied",
                ("ShellExitError", "SHELL_EXIT_NONZERO"),
            )
        ],
    )
    c.step(say="I have no access to `secret/staging/deploy`, so I stop here. Nothing was changed.")
    c.end()
    return [a, b, c]
