"""Search and its index."""

from __future__ import annotations

from casekit import (
    Case,
    Session,
    ask,
    case,
    frame,
    neighbour,
    put,
)


@case("chinese-substrings", "search", "Words inside a run of Chinese characters")
def _(c: Case):
    root = c.root()
    paths = []
    for n, (sid, text) in enumerate(
        (("zh-one", "会话搜索功能已经完成"), ("zh-two", "这个 会话 完成 了"), ("zh-mixed", "搜索 done, 明天继续")), 1
    ):
        log = Session(sid, n)
        log.exchange(text, "好的")
        paths.append((log.write(root), text))
    neighbour(root)
    c.does = "Types 搜索, 索, 会话 完成, 搜索 done, and 功能已 into the search bar."
    c.see = [
        "搜索 and 索 find zh-one and zh-mixed; 功能已 finds zh-one; 会话 完成 (one phrase) finds zh-two; 搜索 done finds zh-mixed",
        "the line under the bar names the engine that answered",
    ]
    c.never = ["no hit for a word that is on the screen", "one hit per character in one event counted as many sessions"]
    c.batch(
        "strict",
        ask("searchSessions", {"query": "搜索"}, ids=["zh-mixed"]),
        ask("searchSessions", {"query": "会话搜索功能已经完成"}, ids=["zh-one"]),
        ask("searchSessions", {"query": "索"}, ids=[]),
        ask("filterEvents", {"sessionId": "zh-one", "filters": [{"kind": "text", "text": "搜索"}]}, count=1),
    )
    c.batch(
        "tolerant",
        ask("searchSessions", {"query": "搜索"}, idset=["zh-one", "zh-mixed"]),
        ask("searchSessions", {"query": "索"}, idset=["zh-one", "zh-mixed"]),
        ask("searchSessions", {"query": "功能已"}, ids=["zh-one"]),
        ask("searchSessions", {"query": "会话 完成"}, includes=["zh-two"]),
        ask("searchSessions", {"query": "搜索 done"}, ids=["zh-mixed"]),
        ask("searchSessions", {"query": "完会"}, ids=[]),
        tokenizer="unicode61-cjk",
    )
    c.check("search", query="搜索", idset=["zh-one", "zh-mixed"], exit=[0])
    for path, text in paths:
        c.hold(path, rows=6, has=[text])


@case("query-syntax-as-data", "search", "Queries that look like commands of a query language")
def _(c: Case):
    root = c.root()
    docs = {
        "q-error": "request failed with error-401 today",
        "q-status": "set status:500 in the rule",
        "q-near": "call NEAR(a b) twice",
        "q-star": "glob a* and x",
        "q-brace": "an empty {} pair",
        "q-words": "error 401 in plain words",
        "q-apart": "error, then 401, apart",
    }
    for n, (sid, text) in enumerate(docs.items(), 1):
        log = Session(sid, n)
        log.exchange(text, "fine")
        path = log.write(root)
    c.does = "Types each query: error-401, status:500, a double quote, NEAR(a b), a*, -x, an open parenthesis, {}, and a text with NUL."
    c.see = [
        "each is taken literally; marks separate words, so error-401 is the phrase `error 401`",
        "a query without any word finds nothing and says so",
        "NUL is refused with a clear sentence",
        "=error-401 (literal scan) finds the exact characters only",
    ]
    c.never = ["a syntax error of the index", "another meaning than the literal one", "a crash"]
    queries = [
        ("error-401", ["q-error", "q-words"]),
        ("status:500", ["q-status"]),
        ('"', []),
        ("NEAR(a b)", ["q-near"]),
        ("a*", None),
        ("-x", ["q-star"]),
        ("(", []),
        ("{}", []),
    ]
    asked = [
        ask(
            "searchSessions",
            {"query": q},
            **({"idset": ids} if ids is not None else {"includes": ["q-star", "q-near"]}),
        )
        for q, ids in queries
    ]
    for mode in ("strict", "tolerant"):
        c.batch(
            mode,
            *[dict(r) for r in asked],
            ask("searchSessions", {"query": "a\u0000b"}, error="SESSION_QUERY_INVALID_QUERY"),
            ask("searchSessions", {"query": "   "}, error="SESSION_QUERY_INVALID_QUERY"),
        )
    c.check("search", query="error-401", includes=["q-error"], exit=[0])
    c.check("search", query="(", count=0, exit=[0, 1])
    c.hold(path, rows=6)


@case("damaged-index", "search", "The index file is damaged in many ways; the logs are whole")
def _(c: Case):
    root = c.root()
    for n in range(12):
        log = Session(f"ix-{n:02d}", n)
        for k in range(4):
            log.exchange(f"quartz vein {n} {k} " + "filler words " * 20, f"answer {n} {k}")
        path = log.write(root)
    c.does = "Builds the index, damages it (100 bytes in each shadow table of the full-text index in turn; file cut in half; empty write-ahead file; zeros), searches again."
    c.see = [
        "the same twelve sessions each time",
        "the damage noticed at the query or before, the index set aside and built anew, and one message about it",
    ]
    c.never = [
        "a wrong or shorter answer without a word",
        "a state `usable` beside an error",
        "a rebuild that cannot open the file it should replace",
        "a log touched",
    ]
    request = ask("searchSessions", {"query": "quartz vein", "limit": 50}, count=12)
    c.batch("strict", dict(request))
    c.check(
        "index-damage",
        request={"id": "1", "op": "searchSessions", "args": {"query": "quartz vein", "limit": 50}},
        count=12,
        ways=["shadow-tables", "cut-half", "zero-head", "empty-wal", "zero-all"],
    )
    c.app_steps = [
        "damage the index while the app is open, search: an answer and one notice",
        "start again: no second notice",
    ]
    c.hold(path, rows=24)
    c.hold("root", files=12)


@case("search-while-writing", "search", "A log grows all the time while a hundred searches run")
def _(c: Case):
    root = c.root()
    for n in range(6):
        log = Session(f"still-{n}", n)
        log.exchange(f"basalt column {n}", "fine")
        log.write(root)
    live = Session("sess-growing", 10)
    live.exchange("basalt flows", "still warm")
    path = live.write(root)
    frames = 400 if c.big else 60
    for n in range(frames):
        live.exchange(f"basalt drop {n}", f"drop {n}")
    for n, part in enumerate(live.batches()[2:]):
        put(c.dir / "live" / f"{n:04d}.bin", frame(part))
    c.does = "Appends the pieces in live/ to sess-growing, 20 a second, while 100 searches for basalt run."
    c.see = ["every search answers in its deadline and finds all seven sessions", "at the end the last drop is found"]
    c.never = ["a search refused because the store is never quiet", "half of an append indexed"]
    c.batch("strict", ask("searchSessions", {"query": "basalt", "limit": 50}, count=7))
    c.check(
        "live",
        target=path,
        pieces="live",
        perSecond=20,
        searches=100,
        request={"op": "searchSessions", "args": {"query": "basalt", "limit": 50}},
        count=7,
        config={"mode": "tolerant"},
    )
    c.app_steps = ["start on a copy of the root, append the pieces by a loop, type and change the query meanwhile"]
    c.hold(path, rows=12 - 6, frames=2, seqs="0-5")
