"""Generations, header variants and foreign events."""

from __future__ import annotations

from casekit import (
    FAILED,
    LEAVE_OUT,
    NO_CRASH,
    Case,
    Session,
    about,
    ask,
    case,
    frame,
    neighbour,
)


@case("generations-in-a-folder", "format", "The format number is part of the file name; one folder holds several")
def _(c: Case):
    root = c.root()
    a = Session("gen-three", 1, version=3)
    a.exchange("only in version three", "fine")
    paths = [a.write(root)]
    for version, turns in ((0, 1), (3, 2)):
        b = Session("gen-zero-three", 2, version=version)
        for n in range(turns):
            b.exchange(f"shared turn {n}", f"shared answer {n}")
        paths.append(b.write(root))
    for version, word in ((2, "two"), (10, "ten")):
        d = Session("gen-two-ten", 3, version=version)
        d.exchange(f"written by version {word}", f"answer of {word}")
        paths.append(d.write(root))
    alone = Session("gen-ten", 6, version=10)
    alone.exchange("nothing but version ten", "fine")
    paths.append(alone.write(root))
    e = Session("gen-disagrees", 4, version=3)
    e.exchange("the name says two", "the header says three")
    paths.append(e.write(root, name="session.v2.jsonl.zstd"))
    f = Session("gen-odd-names", 5)
    f.exchange("canonical text", "fine")
    paths.append(f.write(root))
    f.write(root, name="session.v01.jsonl.zstd")
    f.write(root, name="session.V3.jsonl.zstd")
    ids = ["gen-ten", "gen-odd-names", "gen-disagrees", "gen-two-ten", "gen-zero-three", "gen-three"]
    c.does = "Lists the root, opens each session, looks at Health."
    c.see = [
        "six sessions, each once, with its format: gen-three v3, gen-zero-three v3 (the highest known one answers), gen-two-ten v2 with a note that a v10 lies beside it, gen-ten v10 (nothing else is there: read as far as possible, named as newer than known), gen-odd-names v0",
        "gen-disagrees decoded by its header (3) with a finding that name and header differ",
        "numbers count as numbers: v10 is newer than v2, although its name comes first in text order",
        "every generation can be opened",
        "the two names that are not canonical are no sessions; Health may name them",
    ]
    c.never = [
        "a session missing from the list",
        "a newer format called damaged",
        "two generations merged into one order of events",
    ]
    c.batch(
        "strict",
        ask("listSessions", ids=["gen-odd-names", "gen-zero-three"]),
        ask("listEvents", {"sessionId": "gen-zero-three"}, seqs="0-5"),
        ask("listEvents", {"sessionId": "gen-three"}, error="SESSION_QUERY_SESSION_NOT_FOUND"),
    )
    c.batch(
        "tolerant",
        ask("listSessions", ids=ids),
        ask("listEvents", {"sessionId": "gen-three"}, seqs="0-5"),
        ask("listEvents", {"sessionId": "gen-zero-three"}, seqs="0-11"),
        ask("readSession", {"sessionId": "gen-two-ten"}, has=["written by version two"]),
        ask("readSession", {"sessionId": "gen-ten"}, has=["nothing but version ten"]),
        ask("readSession", {"sessionId": "gen-disagrees"}, has=["the header says three"]),
        ask("searchSessions", {"query": "only in version three"}, ids=["gen-three"]),
    )
    c.check(
        "ls",
        rows=6,
        includes=ids,
        formats={
            "gen-three": 3,
            "gen-zero-three": 3,
            "gen-two-ten": 2,
            "gen-ten": 10,
            "gen-disagrees": 3,
            "gen-odd-names": 0,
        },
        exit=[0],
    )
    c.check(
        "doctor",
        exit=[0, 3],
        findings=[
            about("gen-disagrees", "name", "header", "mismatch", "disagree", all=["2", "3"]),
            about("gen-two-ten", "newer", "unsupported", "unknown version", "generation", "version", all=["10"]),
            about("gen-ten", "newer", "unsupported", "generation", "version", all=["10"], none=["corrupt", "damaged"]),
        ],
    )
    for path, version in zip(paths, (3, 0, 3, 2, 10, 10, 3, 0)):
        c.hold(path, version=version, tail="complete")


@case("old-header-variants", "format", "Sound old logs whose header has one key more or one key less")
def _(c: Case):
    root = c.root()
    more = Session("old-more", 1, archived=True)
    less = Session("old-less", 2, delegationDepth=LEAVE_OUT)
    for log in (more, less):
        log.exchange("an old question", "an old answer")
    a, b = more.write(root), less.write(root)
    c.does = "Lists the root and reads the notes on both sessions."
    c.see = [
        "both sessions listed and readable, six events each",
        "the note names the field: `archived` is unknown, `delegationDepth` is missing (0 assumed)",
        "the note says that the data is sound",
    ]
    c.never = ["the words corrupt or damaged for these logs", "one of them missing"]
    c.batch("strict", ask("listSessions", ids=["old-more"]), ask("listEvents", {"sessionId": "old-more"}, seqs="0-5"))
    c.batch(
        "tolerant",
        ask("listSessions", ids=["old-less", "old-more"]),
        ask("listEvents", {"sessionId": "old-less"}, seqs="0-5"),
        ask("listEvents", {"sessionId": "old-more"}, seqs="0-5"),
        ask("searchSessions", {"query": "old question"}, idset=["old-less", "old-more"]),
    )
    c.check("ls", rows=2, includes=["old-more", "old-less"], exit=[0])
    c.check(
        "doctor",
        exit=[0, 3],
        findings=[
            about("old-less", "delegationDepth", none=["corrupt", "damaged"]),
            about("old-more", "archived", none=["corrupt", "damaged"]),
        ],
    )
    c.hold(a, rows=6, has=['"archived":true'])
    c.hold(b, rows=6, has=['"id":"old-less"'])


@case(
    "required-unknown-event", "format", "An event of a newer build stands in the middle and is not marked as skippable"
)
def _(c: Case):
    root = c.root()
    neighbour(root)
    paths = []
    for n, (sid, kind, data) in enumerate(
        (
            ("sess-model", "model/selection", {"provider": "prov", "model": "model-2"}),
            ("sess-route", "planner/route", {"note": "route seven", "weights": [1, 2]}),
        ),
        1,
    ):
        log = Session(sid, n)
        log.exchange("before it", "fine")
        log.add(kind, data)
        log.exchange("after it", "also fine")
        paths.append(log.write(root))
    c.does = "Lists, opens both, selects event 6, looks at Health."
    c.see = [
        "13 events in both",
        "model/selection is known to later builds and needs no warning in tolerant mode",
        "planner/route is named, with its number 6, in Health and (once indexed) in the list's mark; its payload is readable",
    ]
    c.never = [NO_CRASH, "the log called damaged", "the events after it missing"]
    c.batch(
        "strict",
        ask("listSessions", ids=["sess-route", "sess-model", "sess-well"]),
        ask("listEvents", {"sessionId": "sess-model"}, error=FAILED),
        ask("listEvents", {"sessionId": "sess-route"}, error=FAILED),
        ask("searchSessions", {"query": "healthy"}, error=FAILED),
    )
    c.batch(
        "tolerant",
        ask("listEvents", {"sessionId": "sess-model"}, seqs="0-12"),
        ask("listEvents", {"sessionId": "sess-route"}, seqs="0-12", surfaces={"6": "log-only"}),
        ask("readEvent", {"sessionId": "sess-route", "seq": 6}, has=["route seven"]),
        ask("searchSessions", {"query": "after it"}, idset=["sess-model", "sess-route"]),
    )
    c.check("ls", rows=3, exit=[0])
    c.check(
        "doctor",
        exit=[0, 3],
        findings=[about("sess-route", "unknown", "newer", all=["planner/route", "6"], none=["corrupt", "damaged"])],
        clean=["sess-well"],
    )
    for path in paths:
        c.hold(path, rows=13, seqs="0-12")


@case(
    "encoded-id-plugin-events", "format", "An id with colons is escaped on disk; plug-in events stand deep in the log"
)
def _(c: Case):
    root = c.root()
    neighbour(root)
    sid = "im:xx_1:dm:2"
    log = Session(sid, 1)
    for n in range(253):
        log.exchange(f"chat {n}", f"reply {n}")  # 0-1517
    log.turn_start()
    log.user("look it up")  # 1519
    for n in range(4):
        log.add("web/foo-search", {"query": f"foo {n}", "hits": n})
    log.step_start()
    log.assistant("found it")
    log.step_end()
    log.turn_end()
    path = log.write(root)
    c.does = "Lists, opens the session by its real id, opens it by its folder, looks at Health."
    c.see = [
        f"the id {sid} in the list, not the escaped folder name",
        "show, search and export take the real id",
        "the note names web/foo-search at 1520 to 1523",
        "all 1,528 events",
    ]
    c.never = [NO_CRASH, "an id with ~003A on the screen", "the session refused"]
    c.batch(
        "strict",
        ask("listSessions", ids=[sid, "sess-well"]),
        ask("listEvents", {"sessionId": sid}, error=FAILED),
        ask("traceSession", {"sessionId": sid}, at={"complete": True}),
    )
    c.batch(
        "tolerant",
        ask("listSessions", ids=[sid, "sess-well"]),
        ask("listEvents", {"sessionId": sid}, seqs="0-1527"),
        ask("readEvent", {"sessionId": sid, "seq": 1521, "before": 1, "after": 2}, seqs="1520-1523", has=["foo 1"]),
        ask("searchEvents", {"sessionId": sid, "query": "found it"}, count=1),
    )
    c.check("ls", rows=2, includes=[sid], exit=[0])
    c.check(
        "doctor",
        exit=[0, 3],
        findings=[about(sid, "unknown", "plug-in", "plugin", "newer", all=["web/foo-search", "1520"])],
        clean=["sess-well"],
    )
    c.check(
        "export",
        id=sid,
        format="zip",
        exit=[0],
        name="dsh-session-im_xx_1_dm_2.zip",
        entry="session.jsonl",
        source=path,
    )
    c.hold(path, rows=1528, seqs="0-1527", types={"web/foo-search": 4}, id=sid)
    c.hold("root/--home-ana-proj--/im~003Axx_1~003Adm~003A2", files=1)


@case(
    "ignorable-and-first-frame",
    "format",
    "Skippable plug-in events, and a log whose first frame holds more than the header",
)
def _(c: Case):
    root, other = c.root(), c.root("root-frame")
    paths = []
    for n, (sid, extra) in enumerate((("sess-required", {}), ("sess-skippable", {"ignorable": True})), 1):
        log = Session(sid, n)
        log.exchange("quarry question", "fine")
        log.add("fallback/switched", {"from": "a", "to": "b", "why": "quota note"}, **extra)
        log.exchange("more", "fine")
        paths.append(log.write(root))
    neighbour(other)
    odd = Session("sess-joined", 1)
    odd.exchange("joined question", "joined answer")
    parts = odd.batches("each")
    third = odd.write(other, data=frame(parts[0] + parts[1]) + b"".join(map(frame, parts[2:])))
    c.does = "Lists both roots, opens the three sessions, looks at Health."
    c.see = [
        "the skippable event is shown dimmed, in its place, in sess-skippable; nothing is refused there",
        "sess-required carries a note with the type and number 6 of the event",
        "sess-joined is readable (six events) with a clear note: the first frame must hold the header line alone",
    ]
    c.never = [
        NO_CRASH,
        "the skippable event dropped from the timeline or from Raw",
        "sess-well of the second root made unreadable by its neighbour (tolerant)",
    ]
    c.batch(
        "strict",
        ask("listEvents", {"sessionId": "sess-skippable"}, seqs="0-12"),
        ask("listEvents", {"sessionId": "sess-required"}, error=FAILED),
    )
    c.batch(
        "strict",
        ask("listSessions", error=FAILED),
        ask("listEvents", {"sessionId": "sess-well"}, error=FAILED),
        root="root-frame",
    )
    c.batch(
        "tolerant",
        ask("listEvents", {"sessionId": "sess-skippable"}, seqs="0-12"),
        ask("listEvents", {"sessionId": "sess-required"}, seqs="0-12"),
        ask("searchSessions", {"query": "quarry"}, idset=["sess-required", "sess-skippable"]),
    )
    c.batch(
        "tolerant",
        ask("listSessions", includes=["sess-well"]),
        ask("listEvents", {"sessionId": "sess-well"}, seqs="0-5"),
        ask("searchSessions", {"query": "healthy"}, ids=["sess-well"]),
        root="root-frame",
    )
    c.check(
        "doctor",
        exit=[0, 3],
        findings=[about("sess-required", "unknown", "plug-in", "plugin", "newer", all=["fallback/switched", "6"])],
        clean=["sess-skippable"],
    )
    c.check(
        "doctor",
        root="root-frame",
        exit=[3],
        findings=[about("sess-joined", "first frame", "header frame", "more than", "header")],
        clean=["sess-well"],
    )
    c.hold(paths[1], rows=13, has=['"ignorable":true'])
    c.hold(third, firstFrameLines=2, frames=6, rows=6)


@case("foreign-source-kind", "format", "One message of twenty sessions says that a robot spoke")
def _(c: Case):
    root = c.root()
    others = []
    for n in range(19):
        log = Session(f"sess-{n:02d}", n)
        log.exchange(f"granite layer {n}", "noted")
        log.write(root)
        others.append(log.sid)
    odd = Session("sess-robot", 19)
    odd.turn_start()
    odd.user("granite said by a machine", source={"kind": "robot", "robotId": "r1"})
    odd.step_start()
    odd.assistant("noted")
    odd.step_end()
    odd.turn_end()
    path = odd.write(root)
    c.does = "Searches the whole store for granite."
    c.see = [
        "hits in all 19 other sessions; sess-robot found as well, or counted as skipped with its reason",
        "in the conversation the message is labelled `robot`, not as the person's own prompt",
    ]
    c.never = ["a failed search", "no result at all", "a robot's message counted as a prompt"]
    c.batch(
        "strict",
        ask("listSessions", includes=["sess-robot", *others]),
        ask("listEvents", {"sessionId": "sess-00"}, seqs="0-5"),
        ask("listEvents", {"sessionId": "sess-robot"}, seqs="0-5"),
        ask("searchSessions", {"query": "granite", "limit": 50}, count=20),
    )
    c.batch(
        "tolerant",
        ask("searchSessions", {"query": "granite", "limit": 50}, includes=others),
        ask("listEvents", {"sessionId": "sess-robot"}, seqs="0-5"),
    )
    c.check("search", query="granite", options={"limit": 50}, includes=others, exit=[0])
    c.hold(path, rows=6, has=['"kind":"robot"'])
    c.hold("root", files=20)


@case("byte-true-values", "format", "Values that change when a program reads and writes them again")
def _(c: Case):
    root = c.root()
    log = Session("sess-exact", 1)
    at = log.tool_turn("keep it exact", "c1", "calc", '{"n":9007199254740993}', "result text")
    exact = '"meta":{"big":9007199254740993,"huge":1e400,"zero":-0,"one":1.0,"twice":1,"twice":2,"esc":"\\u0041\\/"}'
    log.lines[at["result"]] = log.lines[at["result"]].replace('"data":{', '"data":{' + exact + ",", 1)
    path = log.write(root)
    c.does = "Opens the result's Raw tab, copies it, exports the session."
    c.see = [
        "Raw shows the stored characters: " + exact,
        "the ZIP's session.jsonl equals the decoded log byte for byte",
    ]
    c.never = ["9007199254740992, Infinity, 0 for -0, one of the two `twice` lost in Raw or in the ZIP"]
    for mode in ("strict", "tolerant"):
        c.batch(
            mode,
            ask("listEvents", {"sessionId": "sess-exact"}, seqs="0-10"),
            ask("searchSessions", {"query": "result text"}, ids=["sess-exact"]),
        )
    c.check("export", id="sess-exact", format="zip", exit=[0], entry="session.jsonl", source=path)
    c.hold(path, rows=11, has=[exact])
