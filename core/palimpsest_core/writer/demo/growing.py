"""The session that grows while somebody looks: turns stream in, and now and then a compaction shadows the past."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any, Protocol

from palimpsest_core.model.event import event_json
from palimpsest_core.writer.demo.calls import Call, Row, bash, edit, grep, read
from palimpsest_core.writer.demo.script import Script
from palimpsest_core.writer.store import JsonlStore

CWD = "/home/mira/code/ledgerline"
_SLICE = 9


class Stop(Protocol):
    """What ends the growing; `threading.Event` is one."""

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds; true when it is time to stop."""
        ...


class LiveWork:
    """The growing session and its place in a store."""

    def __init__(self, store: JsonlStore, start: int) -> None:
        self.store = store
        self.script = Script("0198fb5e-webhook-retries", start, CWD)
        self._done = 0
        self._open()

    def _open(self) -> None:
        s = self.script
        s.user(
            "Webhook deliveries fail silently when the customer's server is slow. Let's work through it step by step.",
            title="Webhook retries",
        )
        s.step(
            think="Find the delivery code and its timeout.",
            say="I'll find the delivery code first.",
            calls=[
                grep("def deliver", "ledgerline/webhooks.py:33", "ledgerline"),
                read(
                    "ledgerline/webhooks.py",
                    "def deliver(hook, event):\n    try:\n        requests.post(hook.url, json=event, timeout=5)\n    except requests.Timeout:\n        pass",
                ),
            ],
        )
        s.step(say="There it is: a timeout after 5 s is swallowed, nothing is retried and nothing is logged.")
        s.end()

    def begin(self) -> None:
        """Write the first turn."""
        self.store.create(self.script.header)
        self._append(self.script.events, retime=False)

    def resume(self) -> None:
        """Continue the stored log, whether `begin` wrote it just now or somebody left it in the middle of a turn."""
        events = [event_json(event) for event in self.store.load(self.script.id).events]
        self.script.events = events
        self.script.turn = sum(event["type"] == "turn/start" for event in events)
        self.script.time = events[-1]["time"]
        self._done = len(events)

    def run(self, stop: Stop, pace: float) -> int:
        """Append piece by piece until `stop`; returns the number of appends."""
        for count, rows in enumerate(self._pieces()):
            if stop.wait(pace):
                return count
            self._append(rows, retime=True)
        return 0

    def _append(self, rows: list[Row], *, retime: bool) -> None:
        if retime:
            shift = int(time.time() * 1000) - rows[-1]["time"]
            for row in rows:
                row["time"] += shift
            self.script.time = rows[-1]["time"]
        self.store.append(self.script.id, rows)
        self._done += len(rows)

    def _pieces(self) -> Iterator[list[Row]]:
        for round_no, turn in enumerate(itertools.cycle(_TURNS), 1):
            self._tell(turn, round_no)
            fresh = self.script.events[self._done :]
            at = 0
            while at < len(fresh):
                end = at + 1
                if fresh[at]["type"] == "assistant/chunk":
                    while end < len(fresh) and end - at < _SLICE and fresh[end]["type"] == "assistant/chunk":
                        end += 1
                elif fresh[at]["type"] in _TOGETHER:
                    while end < len(fresh) and fresh[end]["type"] in _TOGETHER:
                        end += 1
                yield fresh[at:end]
                at = end

    def _tell(self, turn: dict[str, Any], round_no: int) -> None:
        s = self.script
        s.user(turn["user"], idle=0.1)
        for step in turn["steps"]:
            s.step(**step)
        s.end()
        if round_no % 2 == 0:
            surface = s.surface()
            s.compact(surface[0], surface[-3], turn["summary"])


_TOGETHER = frozenset(
    (
        "agent/inbox/spliced",
        "turn/start",
        "step/start",
        "step/end",
        "request/header",
        "request/context",
        "compaction/start",
    )
)

_TURNS: tuple[dict[str, Any], ...] = (
    {
        "user": "What should a delivery look like when the server is slow?",
        "steps": [
            {
                "think": "Retries with backoff, idempotency key, dead letter after a day.",
                "say": "Each delivery becomes a row with a state. A worker tries it, and after a timeout puts it back with a delay of 30 s, 2 min, 10 min, 1 h, then hourly for a day.",
            },
            {
                "say": "I'll add the table and the worker.",
                "calls": [
                    edit(
                        "ledgerline/models.py",
                        "class Hook(Base):",
                        "class Delivery(Base):\n    state = Column(Enum(DeliveryState))\n    next_try_at = Column(DateTime)\n    tries = Column(Integer, default=0)\n\n\nclass Hook(Base):",
                        60,
                    ),
                    bash(
                        "pytest -q tests/test_webhooks.py",
                        "....F\nE   AssertionError: delivery was lost\n1 failed, 4 passed",
                        fails=True,
                    ),
                ],
            },
            {
                "say": "The failing test shows the old code path is still called from the invoice view.",
                "calls": [grep("deliver\\(", "ledgerline/views/invoices.py:210\nledgerline/webhooks.py:33")],
            },
        ],
        "summary": "Webhook deliveries are rows with a state and a backoff now; the invoice view still calls the old function.",
    },
    {
        "user": "Replace that call as well, and show me the deliveries of the last hour.",
        "steps": [
            {
                "calls": [
                    edit("ledgerline/views/invoices.py", "    deliver(hook, event)", "    enqueue(hook, event)", 210),
                    bash("pytest -q tests/test_webhooks.py", ".....\n5 passed"),
                ]
            },
            {
                "say": "The last hour on staging:",
                "calls": [
                    Call(
                        "bash",
                        {"command": "ledger deliveries --since 1h"},
                        "delivered  118\nretrying     4\ndead         0",
                    )
                ],
            },
            {
                "say": "118 were delivered, 4 are being retried (all at one customer whose server answers after 40 s), none is dead."
            },
        ],
        "summary": "All webhook deliveries go through the queue. On staging 118 of 122 of the last hour were delivered, 4 are being retried at one slow customer. Five tests pass.",
    },
    {
        "user": "Tell that customer? Draft two lines for the support team.",
        "steps": [
            {
                "think": "Short, factual.",
                "say": "Our webhooks to shop-7.example wait 5 s for an answer, but the server needs about 40 s. Deliveries are retried, so nothing is lost, but invoices show up late; answering 202 at once and working later would fix it.",
            },
        ],
        "summary": "Support has a two-line note for the slow customer.",
    },
    {
        "user": "Now a dashboard number: share of deliveries that needed more than one try.",
        "steps": [
            {
                "say": "I'll add it to the metrics endpoint.",
                "calls": [
                    edit("ledgerline/metrics.py", "GAUGES = []", "GAUGES = [retried_share]", 5),
                    bash("curl -s localhost:8080/metrics | grep retried", "ledger_webhook_retried_share 0.033"),
                ],
            },
            {"say": "`ledger_webhook_retried_share` is 3.3 % right now."},
        ],
        "summary": "Deliveries are queued with backoff, the slow customer was told, and the metric ledger_webhook_retried_share (3.3 % at present) is exported.",
    },
)
