"""Counts, lineage and compaction."""

from __future__ import annotations

from casekit import (
    Case,
    Session,
    about,
    ask,
    case,
)


@case("fork-counts", "counts", "A fork carries its parent's history, and both are counted")
def _(c: Case):
    root = c.root()
    parent = Session("fork-parent", 1)
    for n in range(15):
        parent.exchange(f"marble question {n}", f"marble answer {n}")  # 30 messages, 90 events
    a = parent.write(root)
    child = Session("fork-child", 60, parentSession="fork-parent", seedLength=90)
    child.copy_of(parent, 90)
    child.add("session/end-seed", {})
    child.exchange("slate question 0", "slate answer 0")
    child.exchange("slate question 1", "slate answer 1")
    child.turn_start()
    child.user("slate question 2")
    child.turn_end({"kind": "aborted", "reason": {"kind": "user"}})
    b = child.write(root)
    c.does = "Looks at the counts of both in the list and in Statistics; searches for marble answer 3."
    c.see = [
        "fork-child: 5 own messages, 35 with inherited ones; fork-parent: 30",
        "over both: 35 messages, not 65",
        "a hit in the shared part is listed once, with both sessions named",
        "a boundary line at event 90; the inherited part is one folded row",
    ]
    c.never = ["65", "the inherited part missing from the log itself"]
    for mode in ("strict", "tolerant"):
        c.batch(
            mode,
            ask("listEvents", {"sessionId": "fork-child"}, seqs="0-105"),
            ask("traceSession", {"sessionId": "fork-child"}, at={"complete": True}, has=["fork-parent"]),
            ask("searchSessions", {"query": "slate question"}, ids=["fork-child"]),
        )
    c.check(
        "ls",
        rows=2,
        exit=[0],
        values={"fork-child": {"own": 16, "inherited": 90}, "fork-parent": {"own": 90, "inherited": 0}},
    )
    c.check("stats", numbers=[35], not_numbers=[65], exit=[0])
    c.check("search", query="marble answer 3", includes_any=["fork-parent", "fork-child"], exit=[0])
    c.hold(a, rows=90, types={"user/message": 15, "assistant/message": 15})
    c.hold(
        b, rows=106, types={"user/message": 18, "assistant/message": 17, "session/end-seed": 1}, has=['"seedLength":90']
    )


@case(
    "usage-sums",
    "counts",
    "Usage of cache and reasoning, reported twice for one step, in two sessions with equal turn numbers",
)
def _(c: Case):
    root = c.root()
    usage = {"inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 2, "cacheWriteTokens": 3, "reasoningTokens": 2}
    paths = []
    for n, sid in enumerate(("use-a", "use-b"), 1):
        log = Session(sid, n)
        log.turn_start()
        log.user("count me")
        log.step_start()
        one = log.chunk({"type": "text-delta", "index": 0, "text": "yes"})
        two = log.chunk({"type": "usage", "usage": usage})
        log.assistant("yes", usage, sourceEventSeqs=[one, two])
        log.step_end()
        log.turn_end()
        paths.append(log.write(root))
    c.does = "Opens Statistics for one session and for both."
    c.see = [
        "20 tokens per session (10 input, 5 output, 2 cache read, 3 cache write; the 2 reasoning tokens are part of the 5), 40 in all"
    ]
    c.never = [
        "44 or 22 (reasoning added twice)",
        "80 (stream and message both counted)",
        "20 in all (both sessions share one key)",
        "35 or 17 (cache writes lost)",
    ]
    c.batch(
        "strict",
        ask("listEvents", {"sessionId": "use-a"}, seqs="0-7"),
        ask("readEvent", {"sessionId": "use-b", "seq": 5}, has=[], at={"target.data.usage.cacheWriteTokens": 3}),
    )
    c.check("stats", numbers=[40], not_numbers=[44, 80, 34], exit=[0])
    for path in paths:
        c.hold(path, rows=8, types={"assistant/chunk": 2, "assistant/message": 1})


@case("usage-with-holes", "counts", "Usage fields are missing, null or texts")
def _(c: Case):
    root = c.root()
    paths = []
    for n, (sid, usage) in enumerate(
        (
            ("hole-empty", {}),
            ("hole-null", {"inputTokens": None}),
            ("hole-text", {"inputTokens": "7"}),
            ("hole-none", {"inputTokens": 100, "outputTokens": 11}),
        ),
        1,
    ):
        log = Session(sid, n)
        log.exchange("count me", "fine", usage)
        paths.append(log.write(root))
    c.does = "Opens Statistics and each session."
    c.see = ["`unknown` for what is not there, sums over what is (111)", "four readable sessions"]
    c.never = ["NaN, None, null, 7 or 118 as a sum", "a crash", "the session refused in tolerant mode"]
    c.batch(
        "strict",
        ask("listSessions", ids=["hole-none", "hole-text", "hole-null", "hole-empty"]),
        *[
            ask("listEvents", {"sessionId": s}, seqs="0-5")
            for s in ("hole-empty", "hole-null", "hole-text", "hole-none")
        ],
    )
    c.batch(
        "tolerant",
        *[
            ask("listEvents", {"sessionId": s}, seqs="0-5")
            for s in ("hole-empty", "hole-null", "hole-text", "hole-none")
        ],
    )
    c.check("ls", rows=4, exit=[0], lacks=["NaN"])
    c.check("stats", numbers=[111], not_numbers=[118], lacks=["NaN"], exit=[0])
    c.hold(paths[0], rows=6, has=['"usage":{}'])
    c.hold(paths[2], rows=6, has=['"inputTokens":"7"'])


@case("orphan-children", "lineage", "A child whose parent is gone has a child of its own")
def _(c: Case):
    root = c.root()
    child = Session("orphan", 1, parentSession="gone-parent", origin="subagent", delegationDepth=1)
    grand = Session("orphan-child", 2, parentSession="orphan", origin="subagent", delegationDepth=2)
    lost = Session("fork-of-gone", 3, parentSession="gone-too", seedLength=6)
    for log in (child, grand, lost):
        log.exchange(f"task of {log.sid}", "fine")
        path = log.write(root)
    c.does = "Looks at the list as a tree, opens Lineage on each."
    c.see = [
        "three sessions; orphan and fork-of-gone are roots that say `parent not found` with the missing id",
        "orphan-child stands below orphan",
    ]
    c.never = ["one of the three missing, flat or as a tree", "an invented parent"]
    for mode in ("strict", "tolerant"):
        c.batch(
            mode,
            ask("listSessions", ids=["fork-of-gone", "orphan-child", "orphan"]),
            ask(
                "traceSession",
                {"sessionId": "orphan"},
                at={
                    "complete": False,
                    "unresolvedParentId": "gone-parent",
                    "descendants.0.session.header.id": "orphan-child",
                },
            ),
            ask(
                "traceSession",
                {"sessionId": "orphan-child"},
                at={"complete": False, "unresolvedParentId": "gone-parent", "ancestors.0.header.id": "orphan"},
            ),
            ask("filterSessions", {"filters": [{"kind": "parent", "values": ["gone-parent"]}]}, ids=["orphan"]),
        )
    c.check("ls", rows=3, includes=["orphan", "orphan-child", "fork-of-gone"], exit=[0])
    c.check("doctor", exit=[0, 3], findings=[about("orphan", "parent", "dangling", "not found", all=["gone-parent"])])
    c.hold(path, rows=6, has=['"parentSession":"gone-too"'])


@case("summary-is-no-prompt", "compaction", "A compaction's summary has the role of a user message")
def _(c: Case):
    root = c.root()
    paths = []
    for n, version in enumerate((0, 2, 3, 4)):
        log = Session(f"compact-v{version}", n, version=version)
        log.add("agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": []})
        log.turn_start()
        log.add("todo/write", {"todos": []})
        log.step_start()
        first = log.user("the very first request")  # 4
        log.assistant("understood")
        log.step_end()
        log.turn_end()  # 7
        log.exchange("obsidian request", "obsidian answer")
        log.exchange("second request", "second answer")
        log.exchange("third request", "third answer")
        log.turn_start()  # 26
        log.user("fourth request")
        log.step_start()
        log.add("todo/write", {"todos": []})
        last = log.assistant("fourth answer")  # 30
        log.step_end()
        log.turn_end()
        assert (first, last) == (4, 30)
        log.compact(first, last, "Summary of what was done so far.")
        log.exchange("after the summary", "going on")
        paths.append(log.write(root))
    c.does = (
        "Opens each session in the conversation view; presses K and J; presses % on the summary; searches for obsidian."
    )
    c.see = [
        "the summary (event 35) has a label of its own and is no stop for K and J",
        "the span of events 4 to 30 can be unfolded in place; its messages are marked shadowed",
        "obsidian is found although the model no longer sees it",
        "five prompts before it and one after it, not seven",
    ]
    c.never = [
        "`you:` before the summary",
        "the summary counted as a prompt, taken as the title, or exported as the person's words",
    ]
    shown = {"4": "shadowed", "5": "shadowed", "30": "shadowed", "35": "current", "38": "current"}
    c.batch(
        "strict",
        ask("listSessions", ids=["compact-v0"]),
        ask("listEvents", {"sessionId": "compact-v0"}, seqs="0-42", surfaces=shown),
        ask("readSurface", {"sessionId": "compact-v0"}, seqs="35 38 40"),
        ask("traceEvent", {"sessionId": "compact-v0", "seq": 4}, at={"replacedBy": 35}),
    )
    c.batch(
        "tolerant",
        *[ask("listEvents", {"sessionId": f"compact-v{v}"}, seqs="0-42", surfaces=shown) for v in (0, 2, 3, 4)],
        *[ask("readSurface", {"sessionId": f"compact-v{v}"}, seqs="35 38 40") for v in (0, 2, 3, 4)],
        ask("searchSessions", {"query": "obsidian request"}, idset=[f"compact-v{v}" for v in (0, 2, 3, 4)]),
    )
    c.check("search", query="obsidian request", count=4, exit=[0])
    for path, version in zip(paths, (0, 2, 3, 4)):
        c.hold(path, version=version, rows=43, seqs="0-42", types={"compaction/summary": 1, "user/message": 7})
