"""Damage: broken bytes, rows out of order, files left behind, references to nothing."""

from __future__ import annotations

from casekit import (
    CORRUPT,
    FAILED,
    GAP_WORDS,
    LANE_WORDS,
    MAGIC,
    NO_CRASH,
    USER,
    Case,
    Session,
    about,
    ask,
    call_block,
    case,
    dump,
    frame,
    neighbour,
    noise,
    project_folder,
    put,
    text_block,
)


@case("unreadable-files", "damage", "Three files that are no logs lie among fifty good ones")
def _(c: Case):
    root = c.root()
    good = []
    for n in range(50):
        log = Session(f"sess-{n:02d}", n)
        log.exchange(f"pebble number {n}", f"answer {n}")
        path = log.write(root)
        good.append(log.sid)
    junk = {"sess-noise": noise(4096, "junk"), "sess-empty": b"", "sess-magic": MAGIC}
    for sid, data in junk.items():
        put(root / project_folder("/home/ana/proj") / sid / "session.jsonl.zstd", data)
    newest = good[::-1]
    c.does = "Opens the app on the root; lists it; searches for pebble; runs the health check."
    c.see = [
        "53 rows: 50 sessions and 3 unreadable ones, each with its path and a reason of its own",
        "a search for pebble finds 50 sessions and says that 3 logs were skipped",
        "ls ends with status 0, doctor with 3",
    ]
    c.never = [NO_CRASH, "one bad file that hides or delays the others", "an unreadable file left out without a word"]
    c.batch(
        "strict",
        ask("listSessions", error=FAILED),
        ask("listEvents", {"sessionId": "sess-07"}, error=FAILED),
        ask("searchSessions", {"query": "pebble"}, error=FAILED),
    )
    c.batch(
        "tolerant",
        ask("listSessions", includes=newest),
        ask("listEvents", {"sessionId": "sess-07"}, seqs="0-5"),
        ask("searchSessions", {"query": "pebble", "limit": 100}, count=50),
    )
    c.check("ls", rows=53, includes=good, unreadable=3, exit=[0])
    c.check(
        "doctor",
        exit=[3],
        findings=[
            about(s, "unreadable", "not a", "empty", "no header", "magic", "foreign", "damaged", "torn") for s in junk
        ],
        clean=["sess-00", "sess-49"],
    )
    c.check("search", query="pebble", options={"limit": 100}, count=50, exit=[0])
    c.app_steps = [
        "start on the root",
        "press G, then k three times: the unreadable rows can be selected and show their reason",
        "open Health",
    ]
    c.hold(path, version=0, frames=2, rows=6, seqs="0-5", tail="complete")
    c.hold("root", files=53)
    c.hold("root/--home-ana-proj--/sess-noise/session.jsonl.zstd", tail="foreign", bytes=4096)
    c.hold("root/--home-ana-proj--/sess-magic/session.jsonl.zstd", tail="torn", bytes=4)


@case("second-writer", "damage", "Two programs wrote to one log: the numbers go back in the middle")
def _(c: Case):
    root = c.root()
    neighbour(root)
    log = Session("sess-two", 1)
    for n in range(6):
        log.exchange(f"first lane question {n}", f"first lane answer {n}")
    log.turn_start()
    log.user("first lane question 6")
    log.step_start()
    log.assistant("first lane answer 6")
    log.step_end()
    log.flush()
    log.add(
        "user/message",
        {"id": "other-37", "role": "user", "source": USER, "content": [text_block("second lane begins")]},
        seq=37,
        surfaceOp="append",
    )
    log.step_start()
    log.assistant("second lane answer")
    log.step_end()
    log.turn_end()
    log.title("Second lane title")
    for n in range(3):
        log.exchange(f"second lane question {n}", f"second lane answer {n}")
    path = log.write(root)
    c.does = "Opens the list, opens sess-two, reads to its end, switches to the raw view, looks at Health."
    c.see = [
        "events 0 to 40 are readable as usual",
        "the place of refusal: line 43 of the text (the header is line 1), expected 41, found 37",
        "rows 37 to 60 of the second writer as a second lane of raw rows with the numbers they claim",
        "rows shown and rows withheld add up to the 65 rows of the file",
        "strict mode refuses the log and its search as the reference does",
    ]
    c.never = [
        NO_CRASH,
        "the log called torn",
        "events of both lanes mixed into one order",
        "sess-well missing from a search",
    ]
    c.batch(
        "strict",
        ask("listSessions", ids=["sess-two", "sess-well"]),
        ask("readSession", {"sessionId": "sess-two"}, error=FAILED),
        ask("listEvents", {"sessionId": "sess-well"}, seqs="0-5"),
        ask("searchSessions", {"query": "healthy"}, error=FAILED),
    )
    c.batch(
        "tolerant",
        ask("listSessions", ids=["sess-two", "sess-well"]),
        ask("listEvents", {"sessionId": "sess-two"}, prefix=40, lacks=["second lane begins"]),
        ask("searchSessions", {"query": "healthy"}, ids=["sess-well"]),
    )
    c.check("ls", rows=2, includes=["sess-two", "sess-well"])
    c.check(
        "doctor",
        exit=[3],
        findings=[about("sess-two", *LANE_WORDS, all=["41", "37"], none=["torn"])],
        clean=["sess-well"],
    )
    c.app_steps = [
        "enter on sess-two",
        "G: the end of the readable part and the refused row are marked",
        "inspector, Raw: the second lane's rows are there, text `second lane begins`",
    ]
    c.hold(path, rows=65, seqs="0-40 37-60", tail="complete", has=["second lane begins"])


@case("closers-overlapped", "damage", "Repair rows were written while the first writer was still alive")
def _(c: Case):
    root = c.root()
    neighbour(root)
    log = Session("sess-alive", 1)
    for n in range(12):
        log.exchange(f"question {n}", f"answer {n}")  # 0-71
    log.turn_start()
    log.user("run the long job")
    log.step_start()
    log.add("request/context", {"provider": "prov", "model": "model-1"})
    log.add("todo/write", {"todos": [{"content": "run it", "status": "in_progress"}]})
    log.title("Long job")
    log.add("todo/write", {"todos": [{"content": "run it again", "status": "in_progress"}]})
    log.assistant([call_block("c1", "shell", '{"cmd":"make"}')])
    log.call("c1", "shell", '{"cmd":"make"}')  # 80
    log.flush()
    log.result(
        "c1",
        "The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is unknown. Decide whether to retry "
        "from the tool semantics: retry only if the operation is read-only or idempotent; if it may have side effects, first verify external state or ask "
        "the user. Do not retry blindly.",
        error={"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"},
        mid="interrupted-tool-result-c1-81",
        sourceEventSeqs=[80],
    )
    log.step_end()
    log.turn_end({"kind": "interrupted"})  # 83
    log.seq = 81
    log.result("c1", "build finished well", sourceEventSeqs=[80])
    log.step_end()
    log.step_start()
    log.assistant("the job is done")
    log.step_end()
    log.turn_end()
    log.turn_start()
    log.user("and then")
    log.step_start()
    log.assistant("nothing more")  # 90
    path = log.write(root)
    c.does = "Opens sess-alive at its end and looks at Health."
    c.see = [
        "a finding of its own kind: the closers 81 to 83 of a repair are overlapped by rows of a writer that was still alive (81 to 90)",
        "both results of call c1: the synthetic one and `build finished well`",
        "events 0 to 83 readable, rows 81 to 90 as the second lane",
    ]
    c.never = [NO_CRASH, "the real result hidden without a word", "the finding worded as a torn tail"]
    c.batch(
        "strict",
        ask("readSession", {"sessionId": "sess-alive"}, error=FAILED),
        ask("listSessions", ids=["sess-alive", "sess-well"]),
    )
    c.batch(
        "tolerant",
        ask("listEvents", {"sessionId": "sess-alive"}, prefix=83),
        ask("searchSessions", {"query": "healthy neighbour"}, ids=["sess-well"]),
    )
    c.check(
        "doctor",
        exit=[3],
        findings=[about("sess-alive", "closer", "live writer", "overlap", "repair", all=["81"], none=["torn"])],
        clean=["sess-well"],
    )
    c.hold(path, rows=94, seqs="0-83 81-90", has=["TOOL_OUTCOME_UNKNOWN", "build finished well"])


@case("gap-before-turn-end", "damage", "Five numbers are missing, and committed work follows")
def _(c: Case):
    root = c.root()
    neighbour(root)
    log = Session("sess-gap", 1)
    for n in range(8):
        log.exchange(f"before the gap {n}", f"answer {n}")  # 0-47
    log.turn_start()
    log.user("last words before the gap")  # 49
    log.flush()
    log.seq = 55
    log.step_start()
    log.assistant("first words after the gap")
    log.step_end()
    log.turn_end()
    log.exchange("later question", "later answer")
    path = log.write(root)
    c.does = "Opens sess-gap, looks at the place, looks at Health."
    c.see = [
        "events 0 to 49",
        "a gap in the committed region: expected 50, found 55",
        "the ten rows behind it as raw rows",
    ]
    c.never = [NO_CRASH, "the log called torn or interrupted", "event 55 shown as event 50"]
    c.batch(
        "strict",
        ask("listEvents", {"sessionId": "sess-gap"}, error=FAILED),
        ask("readEvent", {"sessionId": "sess-gap", "seq": 10}, error=FAILED),
    )
    c.batch(
        "tolerant",
        ask("listEvents", {"sessionId": "sess-gap"}, prefix=49),
        ask("readEvent", {"sessionId": "sess-gap", "seq": 49}, has=["last words before the gap"]),
        ask("searchSessions", {"query": "healthy"}, ids=["sess-well"]),
    )
    c.check(
        "doctor",
        exit=[3],
        findings=[about("sess-gap", *GAP_WORDS, all=["50", "55"], none=["torn"])],
        clean=["sess-well"],
    )
    c.hold(path, rows=60, seqs="0-49 55-64", tail="complete")


@case("packed-row-overlap", "damage", "A packed row begins before the place where it stands and reaches past it")
def _(c: Case):
    root = c.root()
    neighbour(root)
    paths = []
    for n, (sid, again) in enumerate((("sess-same", True), ("sess-other", False)), 1):
        log = Session(sid, n)
        for k in range(15):
            log.exchange(f"question {k}", f"answer {k}")  # 0-89
        log.turn_start()
        log.user("stream something")
        log.step_start()
        log.packed([f"piece{k} " for k in range(93, 100)])  # 93-99
        log.flush()
        log.packed([f"piece{k} " if again or k > 99 else f"strange{k} " for k in range(95, 111)], seq=95)
        log.assistant("".join(f"piece{k} " for k in range(93, 111)), sourceEventSeqs=list(range(93, 111)))
        log.step_end()
        log.turn_end()
        paths.append(log.write(root))
    c.does = "Opens both sessions and looks at Health."
    c.see = [
        "events 0 to 99 of both",
        "a row that claims 95 to 110 where 100 was expected",
        "the two are told apart: in sess-same the repeated part equals what was there, in sess-other it differs",
    ]
    c.never = [NO_CRASH, "five events doubled", "one line counted as one number"]
    c.batch(
        "strict",
        ask("listEvents", {"sessionId": "sess-same"}, error=FAILED),
        ask("listEvents", {"sessionId": "sess-other"}, error=FAILED),
    )
    c.batch(
        "tolerant",
        ask("listEvents", {"sessionId": "sess-same"}, either=[{"prefix": 99}, {"seqs": "0-113"}]),
        ask("listEvents", {"sessionId": "sess-other"}, prefix=99, lacks=["strange96"]),
        ask("searchSessions", {"query": "healthy"}, ids=["sess-well"]),
    )
    c.check(
        "doctor",
        exit=[3],
        findings=[
            about("sess-same", "same", "identical", "repeat", "duplicate", "equal"),
            about("sess-other", "differ", "other text", "conflict", "not the same"),
        ],
        clean=["sess-well"],
    )
    for path in paths:
        c.hold(path, rows=98, seqs="0-99 95-113", packed=2)


@case("left-temporary-files", "damage", "Temporary files of a first publication and of a migration were left behind")
def _(c: Case):
    root = c.root()
    log = Session("sess-done", 1)
    log.exchange("a finished question", "a finished answer")
    path = log.write(root)
    half = Session("sess-done", 1)
    half.exchange("a half written question", "never published")
    folder = root / project_folder("/home/ana/proj")
    put(folder / "sess-done" / "session.jsonl.zstd.0123456789ab.tmp", half.encode())
    put(folder / "sess-done" / "session.jsonl.zstd.123.tmp", half.encode()[:40])
    put(folder / "sess-done" / "session.lock", b"")
    alone = Session("sess-only-temp", 2)
    alone.exchange("text that exists only in a temporary file", "gone")
    put(folder / "sess-only-temp" / "session.jsonl.zstd.ba9876543210.tmp", alone.encode())
    put(folder / "sess-migrating" / "session.migration.0123456789abcdef.jsonl.zstd.tmp", alone.encode())
    neighbour(root)
    c.does = "Lists the root, searches, looks at Health."
    c.see = [
        "two sessions in the list",
        "Health names the four temporary files, and that two folders hold no log besides",
        "session.lock is not a sign of life",
    ]
    c.never = [
        "a temporary file listed as a session",
        "text of a temporary file in the results",
        "a session shown twice",
    ]
    c.batch(
        "strict",
        ask("listSessions", ids=["sess-done", "sess-well"]),
        ask("searchSessions", {"query": "finished"}, ids=["sess-done"]),
        ask("searchSessions", {"query": "temporary file"}, ids=[]),
    )
    c.batch(
        "tolerant",
        ask("listSessions", ids=["sess-done", "sess-well"]),
        ask("searchSessions", {"query": "half written"}, ids=[]),
    )
    c.check("ls", rows=2, includes=["sess-done", "sess-well"], exit=[0])
    c.check(
        "doctor",
        exit=[0, 3],
        findings=[
            about("sess-only-temp", "tmp", "temporary", "left"),
            about("sess-migrating", "tmp", "temporary", "left"),
            about("0123456789ab.tmp", "tmp", "temporary", "left"),
        ],
    )
    c.hold(path, frames=2, rows=6)
    c.hold("root", files=7, glob="session*")
    c.hold("root/--home-ana-proj--/sess-done/session.jsonl.zstd.123.tmp", tail="torn", bytes=40)


@case("torn-last-frame", "damage", "The last frame is cut after each of its bytes")
def _(c: Case):
    root = c.root()

    def build(cut):
        log = Session(f"cut-{cut:03d}", cut)
        log.exchange("anchor question", "anchor answer")
        log.exchange("tail question", "tail answer")
        return log

    last = len(frame(build(1).batches()[-1]))
    cuts = list(range(1, last))
    neighbour(root, "cut-000", "anchor")
    for cut in cuts:
        log = build(cut)
        path = log.write(root, data=log.encode()[:-cut])
        if cut == 1:
            c.hold(path, frames=2, tail="torn", seqs="0-11", tailBytes=last - 1)
    ids = [f"cut-{cut:03d}" for cut in cuts]
    c.does = "Lists the root; opens some of the sessions; searches for anchor and for tail."
    c.see = [
        f"{last} sessions, one whole and {last - 1} torn ones",
        "every torn log shows the first turn (events 0 to 5) and a mark with the number of bytes ignored",
        "where only the checksum (last 1 to 4 bytes) is missing, the second turn is readable too (events 0 to 11)",
    ]
    c.never = [NO_CRASH, "a blank view", "a torn log called corrupt", "bytes written to a log"]
    for mode in ("strict", "tolerant"):
        c.batch(
            mode,
            ask("listSessions", idset=["cut-000", *ids]),
            *[ask("listEvents", {"sessionId": s}, seqs="0-11") for s in ids[:4]],
            *[
                ask("listEvents", {"sessionId": s}, prefix=5, surfaces={"1": "current", "3": "current"})
                for s in (*ids[4:24:4], *ids[24::23], *ids[-4:])
            ],
            ask(
                "searchSessions",
                {"query": "anchor", "limit": 100, "sessionFilters": [{"kind": "id", "values": ids[-60:]}]},
                count=60,
            ),
            ask("searchSessions", {"query": "tail answer", "limit": 100}, includes=ids[:4]),
        )
    c.check("ls", rows=last, exit=[0])
    c.check(
        "doctor",
        exit=[0, 3],
        findings=[about(s, "torn", "cut", "incomplete", none=["corrupt"]) for s in (ids[0], ids[40], ids[-1])],
        clean=["cut-000"],
    )
    c.hold(path, frames=2, tail="torn", seqs="0-5")
    c.hold("root/--home-ana-proj--/cut-004/session.jsonl.zstd", frames=2, tail="torn", seqs="0-11")
    c.hold("root/--home-ana-proj--/cut-020/session.jsonl.zstd", frames=2, tail="torn", seqs="0-5")


@case("references-to-nothing", "damage", "A replacement and a citation point at events that do not exist")
def _(c: Case):
    root = c.root()
    neighbour(root)
    log = Session("sess-replace", 1)
    log.exchange("kept question", "kept answer")
    log.user(
        "a summary of nothing",
        source={"kind": "plugin", "plugin": "compact", "compactionId": "x"},
        sourceEventSeqs=[1, 3],
        surfaceOp={"op": "replace", "start": 90, "end": 95},
    )
    log.exchange("later question", "later answer")
    a = log.write(root)
    log = Session("sess-cite", 2)
    log.tool_turn("cite please", "c1", "grep", "{}", "lines")
    log.turn_start()
    log.user("and again")
    log.step_start()
    log.assistant([call_block("c2", "grep", "{}")])
    log.call("c2", "grep", "{}")
    log.result("c2", "dangling citation", sourceEventSeqs=[77])
    log.step_end()
    log.turn_end()
    b = log.write(root)
    c.does = "Opens both sessions, walks their events, opens Trace on the faulty event, looks at the model's view."
    c.see = [
        "all 13 events of sess-replace and all 19 of sess-cite in the timeline",
        "the error at event 6 (endpoints 90 and 95 are not on the surface) and at event 16 (source 77 does not exist)",
        "the view of what the model saw is marked unreliable or refused with that reason",
    ]
    c.never = [
        NO_CRASH,
        "only the last message shown",
        "a guess shown as fact",
        "a replacement applied to other events",
    ]
    c.batch(
        "strict",
        *[
            ask(op, {"sessionId": s}, error=CORRUPT)
            for s in ("sess-replace", "sess-cite")
            for op in ("listEvents", "readSurface")
        ],
        ask("searchSessions", {"query": "healthy"}, error=FAILED),
    )
    c.batch(
        "tolerant",
        ask("listEvents", {"sessionId": "sess-replace"}, seqs="0-12"),
        ask("listEvents", {"sessionId": "sess-cite"}, seqs="0-18"),
        ask(
            "readSurface",
            {"sessionId": "sess-replace"},
            either=[{"error": ["SESSION_QUERY_INVALID_SURFACE", CORRUPT]}, {"has": ["kept question", "later answer"]}],
        ),
        ask(
            "traceEvent",
            {"sessionId": "sess-cite", "seq": 5},
            either=[{"error": ["SESSION_QUERY_INVALID_SURFACE", CORRUPT]}, {"ok": True}],
        ),
        ask("searchSessions", {"query": "healthy"}, ids=["sess-well"]),
    )
    c.check(
        "doctor",
        exit=[3],
        findings=[
            about("sess-replace", "surface", "replace", "endpoint"),
            about("sess-cite", "source", "citation", "cite", "surface", all=["77"]),
        ],
        clean=["sess-well"],
    )
    c.hold(a, rows=13, seqs="0-12", has=['"start":90'])
    c.hold(b, rows=19, seqs="0-18", has=["[77]"])


@case("lone-surrogate", "damage", "Half of a surrogate pair stands in a text, a path and a title")
def _(c: Case):
    root = c.root()
    neighbour(root)
    log = Session("sess-half", 1)
    log.tool_turn(
        "marker ok \ud83d end", "c1", "read", dump({"path": "/home/ana/a\ud83db.txt"}), "inside \ude00 result"
    )
    log.title("title \ud83d half")
    path = log.write(root)
    c.does = "Lists, searches for end, opens the event in Text and Raw, exports as Markdown, HTML, JSON Lines and ZIP."
    c.see = [
        "the session listed with its title, the half pair as a replacement mark",
        "Raw shows the escape \\ud83d as it is stored",
        "all four exports succeed",
        "batch output writes the lone half as the escape \\ud83d",
    ]
    c.never = [NO_CRASH, "an encoding error", "output that is not UTF-8", "the whole message dropped"]
    for mode in ("strict", "tolerant"):
        c.batch(
            mode,
            ask(
                "filterEvents",
                {"sessionId": "sess-half", "filters": []},
                has=["marker ok \ud83d end", "inside \ude00 result"],
            ),
            ask("searchSessions", {"query": "marker"}, ids=["sess-half"], has=["marker ok \ufffd end"]),
            ask("readTitle", {"sessionId": "sess-half"}, at={"title": "title \ud83d half"}),
        )
    c.check("ls", rows=2, includes=["sess-half"], exit=[0])
    for form in ("zip", "markdown", "html", "jsonl"):
        c.check("export", id="sess-half", format=form, exit=[0], has=["marker ok"])
    c.check("search", query="marker", ids=["sess-half"], exit=[0])
    c.hold(path, rows=12, has=["ok \\ud83d end", "a\\\\ud83db.txt", "\\ude00"])


@case("call-without-result", "damage", "A tool call never gets a result and the next turn begins")
def _(c: Case):
    root = c.root()
    log = Session("sess-waiting", 1)
    log.exchange("first", "fine")
    log.turn_start()  # 6
    log.user("start the watcher")
    log.step_start()
    log.add("todo/write", {"todos": [{"content": "watch", "status": "pending"}]})
    log.title("Watcher")
    log.assistant([call_block("c-lost", "watch", '{"path":"src"}')])
    log.call("c-lost", "watch", '{"path":"src"}')  # 12
    log.flush()
    log.exchange("are you there", "yes")  # 13
    path = log.write(root)
    c.does = "Opens the session, looks at event 12, filters for calls without a result."
    c.see = ["event 12 marked `no result`", "a filter that finds it", "all 19 events"]
    c.never = [
        NO_CRASH,
        "the answer of the next turn taken for the result",
        "an endless spinner for a call of a finished log",
    ]
    for mode in ("strict", "tolerant"):
        c.batch(
            mode,
            ask("listEvents", {"sessionId": "sess-waiting"}, seqs="0-18", surfaces={"12": "log-only"}),
            ask("readEvent", {"sessionId": "sess-waiting", "seq": 12, "before": 1, "after": 1}, seqs="11-13"),
            ask("traceEvent", {"sessionId": "sess-waiting", "seq": 12}, at={"derivedEventSeqs": []}),
        )
    c.check("ls", rows=1, exit=[0])
    c.app_steps = [
        "enter on sess-waiting",
        "go to event 12: the line says that no result exists",
        "filter for it: one event stays",
    ]
    c.hold(path, rows=19, seqs="0-18", types={"tool/call": 1, "turn/start": 3, "turn/end": 2})
    assert [log.events[n]["type"] for n in (12, 13)] == ["tool/call", "turn/start"]


@case("same-call-id-twice", "damage", "One step holds two calls with the same id")
def _(c: Case):
    root = c.root()
    log = Session("sess-twins", 1)
    log.turn_start()
    log.user("do both")
    log.step_start()
    log.assistant([call_block("c1", "alpha", '{"n":1}'), call_block("c1", "beta", '{"n":2}')])
    first = log.call("c1", "alpha", '{"n":1}')
    second = log.call("c1", "beta", '{"n":2}')
    log.result("c1", "outcome of alpha", sourceEventSeqs=[first])
    log.result("c1", "outcome of beta", sourceEventSeqs=[second])
    log.step_end()
    log.turn_end()
    path = log.write(root)
    c.does = "Opens the session, goes through calls and results, opens Trace."
    c.see = ["two calls and two results, each result beside the call that it cites"]
    c.never = [
        NO_CRASH,
        "three of the four",
        "the second result shown under the first call, if the citation says otherwise",
    ]
    for mode in ("strict", "tolerant"):
        c.batch(
            mode,
            ask("listEvents", {"sessionId": "sess-twins"}, seqs="0-9"),
            ask("traceEvent", {"sessionId": "sess-twins", "seq": 5}, at={"derivedEventSeqs": [7]}),
            ask("searchEvents", {"sessionId": "sess-twins", "query": "outcome of"}, count=2, has=["alpha", "beta"]),
        )
    c.check("export", id="sess-twins", format="markdown", exit=[0], has=["outcome of alpha", "outcome of beta"])
    c.hold(path, rows=10, types={"tool/call": 2, "tool/result": 2})
