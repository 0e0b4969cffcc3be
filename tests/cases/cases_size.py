"""Size and speed."""

from __future__ import annotations

from casekit import (
    Case,
    Session,
    ask,
    case,
)


@case("thousands-of-tiny-frames", "size", "Each event is a frame of its own, and the list is refreshed again and again")
def _(c: Case):
    root = c.root()
    sessions, events = (49, 3000) if c.big else (5, 300)
    for n in range(sessions):
        log = Session(f"tiny-{n:02d}", n)
        for k in range(events // 6):
            log.exchange(f"tiny question {k} of {n}", f"tiny answer {k}")
        path = log.write(root, frames="each")
    c.does = "Opens the list and refreshes it 20 times (R); measures the bytes that the process reads."
    c.see = [
        f"{sessions} rows",
        f"{events} events in each session, not 0 and not 1",
        "after the first pass a refresh reads next to nothing: only file sizes and times are looked at",
    ]
    c.never = [
        "every log decoded again on each refresh",
        "a log that ends at the header because reading stopped after the first frame",
    ]
    newest = [f"tiny-{n:02d}" for n in range(sessions)][::-1]
    c.batch(
        "strict",
        *[ask("listSessions", ids=newest) for _ in range(20)],
        ask("listEvents", {"sessionId": "tiny-00"}, seqs=f"0-{events - 1}"),
    )
    c.check("ls", rows=sessions, exit=[0])
    c.check("twice", what="ls", seconds=5)
    c.app_steps = [
        "start on the root, wait until the index is complete",
        "read rchar of the process, press R 20 times, read it again: the difference is far below the size of the logs",
    ]
    c.hold(path, frames=events + 1, rows=events, seqs=f"0-{events - 1}", tail="complete")


@case("packed-rows-expand", "size", "A third of the rows are packed and unfold to four events each")
def _(c: Case):
    root = c.root()
    packed = 5000 if c.big else 500
    log = Session("sess-packed", 1)
    for n in range(packed):
        if n % 50 == 0:
            log.turn_start()
            log.user(f"question {n // 50}")
            log.step_start()
        log.packed([f"w{n} ", "and ", "so ", "on "])
        log.add("todo/write", {"todos": [{"content": f"item {n}", "status": "pending"}]})
        if n % 50 == 49:
            log.assistant(f"answer {n // 50}")
            log.step_end()
            log.turn_end()
    events, rows = log.seq, len(log.lines)
    path = log.write(root)
    c.does = "Opens the session, goes to the end (G), back to the start (g), pages through."
    c.see = [
        f"{rows} rows hold {events} events",
        "the first screen is there at once; runs of chunks are one folded line",
        "the last event has the number " + str(events - 1),
    ]
    c.never = ["all events made into objects before the first screen", "numbers that count lines"]
    c.batch(
        "strict",
        ask("listEvents", {"sessionId": "sess-packed"}, count=events),
        ask("readEvent", {"sessionId": "sess-packed", "seq": events - 1}, at={"endSeq": events - 1}),
    )
    c.check("ls", rows=1, exit=[0])
    c.app_steps = ["enter, G, g, space five times: no stall", "[ and ] and { } work in folded runs"]
    c.hold(path, rows=rows, packed=packed, events=events, seqs=f"0-{events - 1}")


@case("huge-citation-list", "size", "One answer cites a very long list of events")
def _(c: Case):
    root = c.root()
    total = 250_000 if c.big else 5_000
    log = Session("sess-cites", 1)
    log.turn_start()
    log.user("stream a book")
    log.step_start()
    for at in range(0, total, 500):
        log.packed([f"w{n % 7} " for n in range(at, at + 500)])
        log.flush()
    log.assistant("the book", sourceEventSeqs=list(range(3, total + 3)))
    log.step_end()
    log.turn_end()
    path = log.write(root)
    c.does = "Opens the session, goes to the answer, opens Trace."
    c.see = [f"the list of sources shows their number ({total:,}) and scrolls; the answer is readable at once"]
    c.never = [
        "a recursion or stack error",
        "a screen that waits for the whole list",
        "memory that grows with the square",
    ]
    c.batch(
        "strict",
        ask("traceEvent", {"sessionId": "sess-cites", "seq": total + 3}, lengths={"sourceEventSeqs": total}),
        ask("traceEvent", {"sessionId": "sess-cites", "seq": 3}, at={"derivedEventSeqs": [total + 3]}),
    )
    c.check("ls", rows=1, exit=[0])
    c.app_steps = [
        "enter, go to the answer (seq " + str(total + 3) + "), x until Trace",
        "hold j for two seconds in the list of sources",
    ]
    c.hold(path, packed=total // 500, events=total + 6, seqs=f"0-{total + 5}")


@case("cursor-over-a-giant", "size", "A very large session stands in the second row of the list")
def _(c: Case):
    root = c.root()
    size, giant = 17_000_000 if c.big else 400_000, ""
    for n in range(8):
        log = Session(f"row-{n}", 8 - n)
        log.exchange(f"small {n}", "fine")
        if n == 1:
            unit = "giant text line with a number 12345 and words\n"
            log.tool_turn("print it all", "c1", "shell", '{"cmd":"cat all"}', unit * (size // len(unit)))
        path = log.write(root)
        giant = path if n == 1 else giant
    c.does = "Moves the cursor over the second row and back 50 times, fast."
    c.see = ["the cursor follows each key", "the preview of the row where the cursor stops"]
    c.never = [
        "a queue of previews worked off after the keys have stopped",
        "a frozen list",
        "the giant read once per pass",
    ]
    c.batch(
        "strict",
        ask("listSessions", ids=[f"row-{n}" for n in range(8)]),
        ask("listEvents", {"sessionId": "row-1"}, seqs="0-16"),
    )
    c.check("ls", rows=8, exit=[0])
    c.app_steps = [
        "start, j and k in turn 50 times within 3 seconds",
        "process time used in the second after the last key is near nothing",
    ]
    c.hold(giant, rows=17, minBytes=size - 1000)


@case("slow-working-folders", "size", "The working folders named in the headers are slow or gone")
def _(c: Case):
    root = c.root()
    ids = []
    for n in range(30):
        log = Session(f"far-{n:02d}", n, cwd=f"/mnt/far-share-{n % 3}/team/project-{n}")
        log.exchange(f"far question {n}", "fine")
        path = log.write(root)
        ids.append(log.sid)
    c.does = "Lists the root on a machine where every look at /mnt/far-share-* takes two seconds (or where it does not exist)."
    c.see = ["30 rows as fast as ever, with the working folders as written in the headers"]
    c.never = [
        "a look at a working folder while listing, sorting, searching or grouping (check with a trace of system calls: no path below /mnt/far-share)"
    ]
    c.batch(
        "strict",
        ask("listSessions", ids=ids[::-1]),
        ask(
            "filterSessions",
            {"filters": [{"kind": "cwd", "values": ["/mnt/far-share-1/team/project-4"]}]},
            ids=["far-04"],
        ),
    )
    c.check("ls", rows=30, exit=[0], seconds=10, syscalls_never=["/mnt/far-share"])
    c.hold(path, rows=6)
    c.hold("root", files=30)


@case("ten-thousand-sessions", "size", "A store of ten thousand sessions")
def _(c: Case):
    root = c.root()
    total = 10_000 if c.big else 300
    for n in range(total):
        log = Session(f"many-{n:05d}", n, cwd=f"/home/ana/p{n % 25}")
        log.exchange(f"load {n} {'rare' if n == total // 2 else 'common'} word", "fine")
        path = log.write(root)
    c.does = "Starts the app twice; types rare; goes to the end of the list."
    c.see = [
        f"{total} sessions; the second start shows the list in under a second",
        "rare finds one session, also while the first index is still growing (then it says how many are indexed)",
    ]
    c.never = ["a start that waits for the index", "one object per row for rows that are not on the screen"]
    c.batch(
        "strict",
        ask("listSessions", count=total, first=f"many-{total - 1:05d}", last="many-00000"),
        ask("searchSessions", {"query": "rare"}, ids=[f"many-{total // 2:05d}"]),
    )
    c.check("ls", rows=total, exit=[0])
    c.app_steps = ["start, q, start again: time to the first list", "G, g, / rare enter"]
    c.hold(path, rows=6)
    c.hold("root", files=total)


@case("huge-markdown", "size", "Answers with thousands of headings and one endless table")
def _(c: Case):
    root = c.root()
    heads, table = (5000, 500_000) if c.big else (250, 50_000)
    log = Session("sess-book", 1)
    line = "| cell one | cell two | cell three |\n"
    body = "some words of the paragraph under it. " * 10 + "\n\n"
    log.exchange("write a book", "".join(f"# Heading {n}\n\n{body}" for n in range(heads)))
    log.exchange("write a table", "| a | b | c |\n|---|---|---|\n" + line * (table // len(line)))
    path = log.write(root)
    c.does = "Opens both answers in the inspector, goes to their ends, searches in them."
    c.see = [
        "above a stated size plain text instead of formatting, with a note",
        "the end of each text can be reached",
        "keys answer all the time",
    ]
    c.never = ["a frozen app", "text cut off without a word"]
    c.batch(
        "strict",
        ask("listEvents", {"sessionId": "sess-book"}, seqs="0-11"),
        ask("searchEvents", {"sessionId": "sess-book", "query": f"Heading {heads - 1}"}, count=1),
    )
    c.app_steps = ["open event 3, G, g, w, x", "open event 9, G, g"]
    c.hold(path, rows=12, minBytes=(2_000_000 if c.big else 100_000) + table - 1000)
