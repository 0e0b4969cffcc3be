"""Platform, terminal and export."""

from __future__ import annotations

import hashlib
import os

from casekit import (
    Case,
    Session,
    ask,
    case,
    dump,
    neighbour,
)


@case("markup-in-names", "terminal", "Square brackets in titles, folders, tool names and errors")
def _(c: Case):
    root = c.root()
    log = Session("sess-[b]", 1, cwd="/x/[red]/y")
    log.tool_turn(
        "open [bold and never close",
        "c1",
        "[/]",
        '{"a":"[/nothing]"}',
        "output [@click=app.quit]here[/]",
        error={"name": "[tag=value:", "code": "[/red]"},
    )
    log.title("ZLEXCOUNT z [b + done")
    path = log.write(root)
    neighbour(root, cwd="/home/ana/[/]")
    c.does = "Opens every place where these texts show: list, tree, tabs, notices, palette, footer, export dialog, search results."
    c.see = [
        "every bracket as it is written",
        "title `ZLEXCOUNT z [b + done`, folder /x/[red]/y, tool [/], error [tag=value:",
    ]
    c.never = ["a crash of the app", "colour or a link from log text", "brackets swallowed"]
    for mode in ("strict", "tolerant"):
        c.batch(
            mode,
            ask("readTitle", {"sessionId": "sess-[b]"}, at={"title": "ZLEXCOUNT z [b + done"}),
            ask("listSessions", has=["/x/[red]/y"]),
            ask("searchEvents", {"sessionId": "sess-[b]", "query": "tag=value"}, has=["[tag=value:"]),
        )
    c.check("ls", rows=2, includes=["sess-[b]"], has=["ZLEXCOUNT z [b + done"], exit=[0])
    c.check("cli", argv=["ls"], exit=[0], has=["ZLEXCOUNT z [b + done"])
    c.app_steps = [
        "start, select each row, open all four panes",
        "open the palette and type [",
        "search [b, open the hit",
        "e: the export notice shows the file name",
    ]
    c.hold(path, rows=12, has=["ZLEXCOUNT z [b + done", "[tag=value:", '"name":"[/]"'])


@case("plain-ascii-locale", "platform", "The system's default encoding is not UTF-8")
def _(c: Case):
    root = c.root()
    log = Session("sess-emoji", 1, cwd="/home/ana/Übung-日本")
    log.exchange("ship it 🚀 – ça va, 你好", "gerne ✅")
    log.title("Rakete 🚀 starten")
    path = log.write(root)
    env = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    c.does = "Runs ls, search, show and export with LC_ALL=C and PYTHONUTF8=0 into a pipe and a file."
    c.see = ["clean UTF-8 or escapes, complete output"]
    c.never = ["a stack trace", "output that stops in the middle", "a file read in another encoding than UTF-8"]
    c.check("ls", rows=1, includes=["sess-emoji"], env=env, exit=[0])
    c.check("search", query="ship it", ids=["sess-emoji"], env=env, exit=[0])
    c.check("cli", argv=["ls"], env=env, exit=[0], has=["sess-emoji"])
    c.check("export", id="sess-emoji", format="markdown", env=env, exit=[0], has=["ship it 🚀", "你好"])
    c.batch("tolerant", ask("readTitle", {"sessionId": "sess-emoji"}, at={"title": "Rakete 🚀 starten"}))
    c.hold(path, rows=7, has=["🚀", "你好"])


@case("linked-folders", "platform", "Symbolic links: to the root, twice to one project, and in a circle")
def _(c: Case):
    root = c.root("real")
    ids = []
    for n in range(4):
        log = Session(f"link-{n}", n)
        log.exchange(f"linked question {n}", "fine")
        path = log.write(root)
        ids.append(log.sid)
    os.symlink("--home-ana-proj--", root / "alias-one")
    os.symlink("--home-ana-proj--", root / "alias-two")
    os.symlink(".", root / "circle")
    os.symlink("real", c.dir / "root")
    c.does = "Opens the app on root, which is a link itself."
    c.see = ["four sessions, each once"]
    c.never = ["an empty list", "a session two or three times", "an endless walk"]
    c.batch("strict", ask("listSessions", ids=ids[::-1]), ask("searchSessions", {"query": "linked question"}, count=4))
    c.batch(
        "tolerant", ask("listSessions", ids=ids[::-1]), ask("searchSessions", {"query": "linked question"}, count=4)
    )
    c.check("ls", rows=4, includes=ids, exit=[0], seconds=20)
    c.check("doctor", exit=[0, 3], seconds=20, clean=ids)
    c.hold("root", link=True)
    c.hold("real/circle", link=True)
    c.hold(path, rows=6)


@case("key-repeat", "terminal", "A key is held down in a very long log")
def _(c: Case):
    root = c.root()
    turns = 166_667 if c.big else 500
    log = Session("sess-long", 1)
    log.remember = False
    for n in range(turns):
        log.exchange(f"step {n} of many", f"answer {n} " + "word " * (n % 40))
    path = log.write(root)
    c.does = (
        "Opens the session and sends 500 key-down events within two seconds; then page down 100 times; then G and g."
    )
    c.see = ["the place where the cursor ends, within a tenth of a second after the last key", f"{turns * 6} events"]
    c.never = ["a view that goes on moving after the keys have stopped", "the inspector rendering every event passed"]
    c.batch("strict", ask("listEvents", {"sessionId": "sess-long"}, count=turns * 6))
    c.app_steps = [
        "enter; send j 500 times in 2 s: the selected event is number 500 within 0.1 s",
        "G: event " + str(turns * 6 - 1) + " selected; g: event 0",
    ]
    c.hold(path, rows=turns * 6, seqs=f"0-{turns * 6 - 1}")


@case("terminal-sequences", "terminal", "Control sequences and direction marks in texts, titles and paths")
def _(c: Case):
    root = c.root()
    esc = "\u001b"
    bad = (
        f"clear {esc}[2J{esc}[H screen",
        f"clip {esc}]52;c;ZXZpbA==\u0007 board",
        f"link {esc}]8;;file:///home/ana/x{esc}\\text{esc}]8;;{esc}\\ here",
        "over\rwrite",
        "bell\u0007",
        "bidi \u202egnp.exe\u202c end",
        "c1 \u009b31m red",
        "zero\u200bwidth \u2066isolate\u2069",
    )
    log = Session("sess-esc", 1)
    log.tool_turn("print everything", "c1", f"tool{esc}[31m", '{"x":"\\u001b[2J"}', "\n".join(bad))
    log.title(f"title {esc}[5m blinks \u202e rev")
    path = log.write(root)
    neighbour(root, cwd=f"/home/{esc}]0;owned\u0007/x")
    c.does = "Lists, searches for screen, opens the result in Text and Raw, copies it, runs ls and search without --json in a terminal."
    c.see = [
        "visible stand-ins for each control and direction character",
        "the stored text is unchanged in Raw (as escapes) and in exports of raw logs",
    ]
    c.never = [
        "a control sequence reaching the terminal",
        "a changed window title, clipboard, colour or text direction",
    ]
    for mode in ("strict", "tolerant"):
        c.batch(
            mode,
            ask(
                "filterEvents",
                {"sessionId": "sess-esc", "filters": [{"kind": "type", "values": ["tool/result"]}]},
                has=list(bad),
            ),
            ask("searchSessions", {"query": "screen"}, ids=["sess-esc"]),
        )
    controls = [esc, "\u0007", "\u202e", "\u009b", "\u2066"]
    for argv in (["ls"], ["search", "screen"], ["search", "bidi"], ["show", "sess-esc"], ["trace", "sess-esc"]):
        c.check("cli", argv=argv, exit=[0], lacks=controls)
    c.check("ls", rows=2, exit=[0])
    c.app_steps = [
        "open everything; the borders stay in place, nothing blinks",
        "copy the result: the notice is harmless too",
    ]
    c.hold(path, rows=12, has=["\\u001b[2J", "\\u0007", "\u202e"])


@case("credentials-in-output", "export", "Secrets of many shapes stand beside harmless look-alikes")
def _(c: Case):
    root = c.root()
    h = hashlib.sha256(b"fake").hexdigest()
    up = h.upper()
    secrets = {
        "cloud access key id": "AKIA" + "Q7" + up[:14],
        "code host token": "ghp" + "_" + (h * 2)[:36],
        "model vendor key": "sk" + "-" + (h * 2)[:48],
        "chat bot token": "xoxb" + "-" + "123456789012" + "-" + "123456789012" + "-" + h[:24],
        "payment key": "sk" + "_live_" + h[:24],
        "map service key": "AIza" + "Sy" + (h * 2)[:33],
        "signed web token": "eyJhbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0" + "." + h[:43],
        "private key": "-----BEGIN " + "RSA PRIVATE KEY-----\n" + h + "\n-----END " + "RSA PRIVATE KEY-----",
        "basic auth url": "https://ana:" + "hunter2horse" + "@example.test/x",
        "env value": "DB_PASSWORD" + "=" + "correct-horse-battery",
        "bearer header": "Authorization: Bearer " + h[:40],
        "package registry token": "npm" + "_" + h[:36],
    }
    harmless = {
        "commit": hashlib.sha1(b"commit").hexdigest(),
        "digest": "sha256:" + hashlib.sha256(b"look").hexdigest(),
        "uuid": "3f2c1a4e-8d7b-4c6a-9e5f-0a1b2c3d4e5f",
    }
    names = list(secrets)
    log = Session("sess-keys", 1, cwd="/home/ana/proj")
    out = "\n".join(f"{n}: {secrets[n]}" for n in names[:8]) + "\n" + "\n".join(f"{n} {v}" for n, v in harmless.items())
    log.tool_turn(
        "show the environment",
        "c1",
        "shell",
        dump({"cmd": f"curl {secrets['basic auth url']}"}),
        out,
        answer=f"it holds {secrets['env value']}",
    )
    log.tool_turn(
        "call it",
        "c2",
        "http",
        dump({"header": secrets["bearer header"], "path": f"/home/ana/{secrets['package registry token']}.txt"}),
        f"again {secrets['code host token']}",
    )
    log.title("Key " + secrets["cloud access key id"])
    path = log.write(root)
    c.does = "Exports the session as Markdown and HTML with redaction; exports the raw ZIP."
    c.see = [
        "none of the twelve secrets in the redacted files; equal secrets get equal stand-ins; a table says how many of which kind were replaced",
        "commit, digest and uuid stay as they are",
        "the raw export says that it holds the logs as they are, secrets included",
    ]
    c.never = [
        "a secret in a redacted text, title, argument, file name or attachment name",
        "a commit id redacted",
        "redaction of the stored log",
    ]
    plain = [v.split("\n")[1] if "\n" in v else v for v in secrets.values()]
    bare = [p.split("Bearer ")[-1].split("DB_PASSWORD=")[-1] for p in plain]
    bare = ["hunter2horse" if "hunter2horse" in p else p for p in bare]
    for form in ("markdown", "html"):
        c.check(
            "export",
            id="sess-keys",
            format=form,
            redact=True,
            exit=[0],
            lacks=bare,
            has=[harmless["commit"], harmless["uuid"]],
        )
    c.check("export", id="sess-keys", format="zip", exit=[0], entry="session.jsonl", source=path)
    c.batch("strict", ask("listEvents", {"sessionId": "sess-keys"}, seqs="0-22"))
    c.hold(path, rows=23, has=[*bare, harmless["digest"]])
