"""What the case makers share: builds logs row by row, reads files back, keeps the record of a case."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

import zstandard

T0 = 1786900000000  # base of all times, epoch milliseconds
MINUTE = 60_000
MAGIC = b"\x28\xb5\x2f\xfd"
LEAVE_OUT = object()  # header value that removes the key
USER = {"kind": "user"}
MODEL = {"kind": "model", "provider": "prov", "model": "model-1"}


def dump(value) -> str:
    """One JSON line without its end; lone surrogates are written as escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\ud800-\udfff]", lambda m: f"\\u{ord(m.group()):04x}", text)


def frame(text: str | bytes) -> bytes:
    """One zstd frame with a content checksum."""
    data = text if isinstance(text, bytes) else text.encode()
    return zstandard.ZstdCompressor(level=3, write_checksum=True).compress(data)


def noise(size: int, seed: str) -> bytes:
    """Repeatable bytes that look random and never start like a zstd frame."""
    out, n = b"\x00", 0
    while len(out) < size:
        out += hashlib.sha256(f"{seed}:{n}".encode()).digest()
        n += 1
    return out[:size]


def escape(text: str, keep: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    chars = [chr(int.from_bytes(units[i : i + 2], "big")) for i in range(0, len(units), 2)]
    return "".join(c if re.fullmatch(keep, c) else f"~{ord(c):04X}" for c in chars)


def project_folder(cwd: str | None) -> str:
    if cwd is None:
        return "_no-cwd"
    key = escape(re.sub(r"[/\\:]+", "-", cwd), r"[A-Za-z0-9._-]").lstrip("-") or "root"
    return f"--{key[:251]}--"


def session_folder(sid: str) -> str:
    return escape(sid, r"[A-Za-z0-9_-]" if sid in (".", "..") else r"[A-Za-z0-9._-]")


def text_block(text: str) -> dict:
    return {"type": "text", "text": text}


def call_block(cid: str, name: str, args: str) -> dict:
    return {"type": "tool-call", "id": cid, "name": name, "arguments": args}


def blocks(content) -> list:
    return [text_block(content)] if isinstance(content, str) else content


class Session:
    """One log under construction. Numbers every event, remembers frame ends and the surface."""

    def __init__(self, sid: str, minute: int = 0, cwd: str | None = "/home/ana/proj", version: int = 0, **header):
        self.sid, self.cwd, self.version = sid, cwd, version
        self.created = T0 + minute * MINUTE
        head = {"type": "session", "version": version, "id": sid, "createdAt": self.created}
        if cwd is not None:
            head["cwd"] = cwd
        if version >= 2:
            head["isSeeded"] = False
        head["delegationDepth"] = 0
        head.update(header)
        self.header = {k: v for k, v in head.items() if v is not LEAVE_OUT}
        self.lines: list[str] = []
        self.ends: list[int] = []  # line counts at which a frame ends
        self.events: list[dict] = []
        self.seq = self.turn = self.step = 0
        self.time = self.created
        self.surface: list[int] = []
        self.remember = True  # off for logs too long to keep as objects

    # rows
    def raw(self, line: str) -> None:
        self.lines.append(line)

    def row(self, row: dict) -> None:
        self.raw(dump(row))

    def add(self, type_: str, data: dict, seq: int | None = None, **extra) -> int:
        """Append one event; `seq` sets the counter, so that later rows go on from there."""
        if seq is not None:
            self.seq = seq
        self.time += 10
        event = {"type": type_, "seq": self.seq, "time": self.time, "data": data, **extra}
        self.row(event)
        if self.remember:
            self.events.append(event)
        if self.remember and extra.get("surfaceOp") == "append":
            self.surface.append(self.seq)
        self.seq += 1
        return self.seq - 1

    def copy_of(self, parent: Session, upto: int) -> None:
        """Take over the first events of another log unchanged (a fork's inherited prefix)."""
        for event in parent.events[:upto]:
            self.events.append(event)
            self.row(event)
            if event.get("surfaceOp") == "append":
                self.surface.append(event["seq"])
        last = parent.events[upto - 1]
        self.seq, self.time = upto, max(self.time, last["time"])
        self.turn = max((e["data"].get("turn", 0) or 0 for e in parent.events[:upto]), default=0)
        self.flush()

    def flush(self) -> None:
        if self.lines and (not self.ends or self.ends[-1] != len(self.lines)):
            self.ends.append(len(self.lines))

    # turns and steps
    def turn_start(self) -> int:
        self.turn, self.step = self.turn + 1, 0
        return self.add("turn/start", {"turn": self.turn})

    def turn_end(self, reason: dict | None = None) -> int:
        seq = self.add("turn/end", {"turn": self.turn, "reason": reason or {"kind": "completed"}})
        self.flush()
        return seq

    def step_start(self) -> int:
        self.step += 1
        return self.add("step/start", {"turn": self.turn, "step": self.step})

    def step_end(self) -> int:
        return self.add("step/end", {"turn": self.turn, "step": self.step})

    # messages
    def user(self, content, source: dict = USER, **extra) -> int:
        extra.setdefault("surfaceOp", "append")
        data = {"id": f"{self.sid}-m{self.seq}", "role": "user", "source": source, "content": blocks(content)}
        return self.add("user/message", data, **extra)

    def assistant(self, content, usage: dict | None = None, stream: list | None = None, **extra) -> int:
        extra.setdefault("surfaceOp", "append")
        message = {"id": f"{self.sid}-m{self.seq}", "role": "assistant", "source": MODEL, "content": blocks(content)}
        data = {"turn": self.turn, "step": self.step, "message": message}
        if usage is not None:
            data["usage"] = usage
        if self.version >= 2:
            data["stream"] = stream or []
        return self.add("assistant/message", data, **extra)

    def call(self, cid: str, name: str, args: str, **extra) -> int:
        return self.add(
            "tool/call", {"turn": self.turn, "step": self.step, "callId": cid, "name": name, "arguments": args}, **extra
        )

    def result(self, cid: str, content, error: dict | None = None, meta=None, mid: str | None = None, **extra) -> int:
        extra.setdefault("surfaceOp", "append")
        mid = mid or f"{self.sid}-m{self.seq}"
        source, failed = {"kind": "tool", "callId": cid}, error is not None
        if self.version >= 4:
            message = {
                "id": mid,
                "role": "tool",
                "source": source,
                "toolCallId": cid,
                "isError": failed,
                "content": blocks(content),
            }
        else:
            block = {"type": "tool-result", "toolCallId": cid, "isError": failed, "content": blocks(content)}
            message = {"id": mid, "role": "user", "source": source, "content": [block]}
        data = {"turn": self.turn, "step": self.step, "message": message}
        if error is not None:
            data["error"] = error
        if meta is not None:
            data["meta"] = meta
        return self.add("tool/result", data, **extra)

    def title(self, title: str, source: dict = USER, seqs: list | None = None) -> int:
        seq = self.add("session/title", {"title": title, "messageSeqs": seqs or [], "source": source})
        self.flush()
        return seq

    def exchange(self, question, answer, usage: dict | None = None) -> None:
        """One complete turn: six events."""
        self.turn_start()
        self.user(question)
        self.step_start()
        self.assistant(answer, usage)
        self.step_end()
        self.turn_end()

    def tool_turn(self, question: str, cid: str, name: str, args: str, output, answer: str = "done", **result) -> dict:
        """One complete turn with one tool call: ten events."""
        self.turn_start()
        self.user(question)
        self.step_start()
        self.assistant([call_block(cid, name, args)])
        at = {"call": self.call(cid, name, args)}
        at["result"] = self.result(cid, output, sourceEventSeqs=[at["call"]], **result)
        self.step_end()
        self.step_start()
        at["answer"] = self.assistant(answer)
        self.step_end()
        self.turn_end()
        return at

    def compact(self, first: int, last: int, summary: str, cid: str = "cmp-1") -> int:
        """Replace the surface nodes first..last by a checkpoint (four events); returns its seq."""
        a, b = self.surface.index(first), self.surface.index(last)
        gone = self.surface[a : b + 1]
        start = self.add("compaction/start", {"compactionId": cid, "turn": None})
        said = self.add(
            "compaction/summary",
            {
                "compactionId": cid,
                "summary": [text_block(summary)],
                "shadowedRange": {"start": first, "end": last},
                "shadowedSeqs": gone,
                "shadowedTokenCount": 100 * len(gone),
                "provider": "prov",
                "model": "model-1",
            },
        )
        op = (
            {"op": "replace", "startSeq": first, "endSeq": last}
            if self.version >= 3
            else {"op": "replace", "start": first, "end": last}
        )
        source = (
            {"kind": "compact-checkpoint", "compactionId": cid}
            if self.version >= 4
            else {"kind": "plugin", "plugin": "compact", "compactionId": cid}
        )
        seq = self.user(summary, source=source, sourceEventSeqs=sorted([*gone, start, said]), surfaceOp=op)
        self.surface[a : b + 1] = [seq]
        self.add("compaction/end", {"compactionId": cid, "turn": None})
        self.flush()
        return seq

    def chunk(self, chunk: dict) -> int:
        return self.add("assistant/chunk", {"turn": self.turn, "step": self.step, "chunk": chunk})

    def packed(self, texts: list[str], seq: int | None = None, kind: str = "text-chunks") -> int:
        """A packed row of text deltas; consumes one number per text."""
        if seq is not None:
            self.seq = seq
        first = self.seq
        self.row(
            {
                "type": kind,
                "seq0": first,
                "time0": self.time + 10,
                "data": {
                    "turn": self.turn,
                    "step": self.step,
                    "index": 0,
                    "dt": [2] * (len(texts) - 1),
                    "texts": texts,
                },
            }
        )
        self.time += 10 + 2 * (len(texts) - 1)
        self.seq += len(texts)
        return first

    # bytes
    def file_name(self, encoding: str) -> str:
        version = self.header.get("version", 0)
        return ("session.jsonl" if version == 0 else f"session.v{version}.jsonl") + (
            ".zstd" if encoding == "zstd" else ""
        )

    def batches(self, frames: str = "batch") -> list[str]:
        """The header line and the append batches; frames: batch, each (one row a frame), single (one body frame)."""
        ends = {"each": list(range(1, len(self.lines) + 1)), "single": [len(self.lines)]}.get(frames, list(self.ends))
        if self.lines and (not ends or ends[-1] != len(self.lines)):
            ends.append(len(self.lines))
        parts, at = [dump(self.header) + "\n"], 0
        for end in ends:
            if end > at:
                parts.append("".join(line + "\n" for line in self.lines[at:end]))
            at = end
        return parts

    def encode(self, encoding: str = "zstd", frames: str = "batch") -> bytes:
        parts = self.batches(frames)
        return b"".join(map(frame, parts)) if encoding == "zstd" else "".join(parts).encode()

    def folder(self) -> str:
        return f"{project_folder(self.cwd)}/{session_folder(self.sid)}"

    def write(
        self,
        root: Path,
        encoding: str = "zstd",
        frames: str = "batch",
        name: str | None = None,
        data: bytes | None = None,
    ) -> str:
        """Write the log below a root; returns the path relative to the case directory."""
        path = root / self.folder() / (name or self.file_name(encoding))
        put(path, self.encode(encoding, frames) if data is None else data, self.time)
        return path.relative_to(root.parent).as_posix()


def put(path: Path, data: bytes, time_ms: int = T0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))


def split_frames(data: bytes) -> tuple[list[bytes], bytes, str, int]:
    """Read frame by frame: whole payloads, payload of a cut last frame, state of the tail, bytes in it."""
    done, view, at = [], memoryview(data), 0
    while at < len(data):
        reader, part, to, window = zstandard.ZstdDecompressor().decompressobj(), b"", at, 4096
        try:
            while not reader.eof and to < len(
                data
            ):  # small windows: what follows the frame is copied once, not once per frame
                part += reader.decompress(view[to : to + window])
                to, window = min(len(data), to + window), window * 2
        except zstandard.ZstdError:
            return done, b"", "foreign", len(data) - at
        if not reader.eof:
            known = MAGIC.startswith(data[at : at + 4]) or data[at : at + 4] == MAGIC
            return done, part, "torn" if known else "foreign", len(data) - at
        done.append(part)
        at = to - len(reader.unused_data)
    return done, b"", "complete", 0


def ranges(numbers: list[int]) -> str:
    """1,2,3,7 -> '1-3 7': runs in file order."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def facts(path: Path) -> dict:
    """What a file holds, read back from the disk with nothing but zstd and json."""
    data = path.read_bytes()
    out: dict = {"bytes": len(data)}
    if path.name.endswith((".zstd", ".tmp")):
        frames, rest, tail, left = split_frames(data)
        text = b"".join(frames) + rest
        out |= {
            "frames": len(frames),
            "tail": tail,
            "tailBytes": left,
            "first": frames[0].decode("utf-8", "replace") if frames else "",
        }
    else:
        text = data
        out |= {"frames": 0, "tail": "complete" if text.endswith(b"\n") else "torn", "first": ""}
    lines = text.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    seqs, kinds, packed, head = [], {}, 0, None
    for n, line in enumerate(lines):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict):
            continue
        if n == 0:
            head = row
            continue
        if "seq0" in row:
            packed += 1
            seqs += range(row["seq0"], row["seq0"] + len(row["data"].get("texts", row["data"].get("args", []))))
        elif isinstance(row.get("seq"), int):
            seqs.append(row["seq"])
        kinds[row.get("type")] = kinds.get(row.get("type"), 0) + 1
    out |= {
        "rows": max(0, len(lines) - 1),
        "seqs": ranges(seqs),
        "events": len(seqs),
        "packed": packed,
        "types": kinds,
        "version": (head or {}).get("version"),
        "id": (head or {}).get("id"),
        "text": text.decode("utf-8", "replace"),
    }
    return out


def ask(op: str, args: dict | None = None, **expect) -> dict:
    """One request of the batch protocol and what its result must be."""
    return {"op": op, "args": args or {}, "expect": expect}


def about(session: str, *words: str, all: list | None = None, none: list | None = None) -> dict:
    """A finding that must exist: about which session or file, any of these words, all of these texts, none of those."""
    return {"about": session, "any": list(words), "all": all or [], "none": none or []}


class Case:
    """One case: its folder, its case.json."""

    def __init__(self, out: Path, name: str, big: bool, meta: dict):
        self.dir, self.name, self.big = out / name, name, big
        self.meta = meta
        self.does, self.see, self.never, self.app_steps = "", [], [], []
        self.checks: list[dict] = []
        self.holds: list[dict] = []

    def root(self, name: str = "root") -> Path:
        path = self.dir / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def batch(self, mode: str, *requests: dict, root: str = "root", **config) -> None:
        for n, request in enumerate(requests, 1):
            request["id"] = str(n)
        self.checks.append(
            {"check": "batch", "root": root, "config": {"mode": mode, **config}, "requests": list(requests)}
        )

    def check(self, kind: str, root: str = "root", **what) -> None:
        """kind: ls, doctor, search, stats, export, cli, twice, live, index-damage, index-killed, parallel."""
        self.checks.append({"check": kind, "root": root, **what})

    def hold(self, path: str, **want) -> None:
        """A fact of the corpus, proved by reading the file back (--verify)."""
        self.holds.append({"path": path, **want})

    def save(self) -> None:
        for check in self.checks:
            if "source" in check:  # an export whose entry must equal the stored text
                data = (self.dir / check["source"]).read_bytes()
                whole = (
                    b"".join(split_frames(data)[0])
                    if check["source"].endswith(".zstd")
                    else data[: data.rfind(b"\n") + 1]
                )
                check["sha256"] = hashlib.sha256(whole).hexdigest()
        record = {
            "schema": 1,
            "name": self.name,
            **self.meta,
            "big": self.big,
            "does": self.does,
            "see": self.see,
            "never": self.never,
            "app": self.app_steps,
            "checks": self.checks,
            "holds": self.holds,
        }
        (self.dir / "case.json").write_text(json.dumps(record, ensure_ascii=True, indent=1) + "\n", encoding="ascii")


CASES: list = []


def case(slug: str, kind: str, title: str, **meta):
    """Register a case; its number is its place in this file."""

    def wrap(build):
        CASES.append((f"{len(CASES) + 1:02d}-{slug}", build, {"title": title, "kind": kind, **meta}))
        return build

    return wrap


def verify(folder: Path) -> list[str]:
    """Prove that the corpus holds what case.json says; returns what does not."""
    wrong = []
    for want in json.loads((folder / "case.json").read_text())["holds"]:
        path = folder / want["path"]
        if want.get("link"):
            if not path.is_symlink():
                wrong.append(f"{want['path']}: no link")
            continue
        if "files" in want:
            got = len([p for p in path.rglob(want.get("glob", "session*.jsonl*")) if p.is_file()])
            if got != want["files"]:
                wrong.append(f"{want['path']}: {got} files, not {want['files']}")
            continue
        got = facts(path)
        for key, value in want.items():
            if key == "path":
                continue
            if key == "has":
                wrong += [f"{want['path']}: text {t!r} is missing" for t in value if t not in got["text"]]
            elif key == "types":
                wrong += [
                    f"{want['path']}: {got['types'].get(t, 0)} of {t}, not {n}"
                    for t, n in value.items()
                    if got["types"].get(t, 0) != n
                ]
            elif key == "firstFrameLines":
                if got["first"].count("\n") != value:
                    wrong.append(f"{want['path']}: first frame has {got['first'].count(chr(10))} lines, not {value}")
            elif key == "minBytes":
                if len(got["text"]) < value:
                    wrong.append(f"{want['path']}: text has {len(got['text'])} characters, fewer than {value}")
            elif got.get(key) != value:
                wrong.append(f"{want['path']}: {key} is {got.get(key)!r}, not {value!r}")
    return wrong


FAILED = "SESSION_QUERY_PERSISTENCE_FAILED"
CORRUPT = "SESSION_QUERY_CORRUPT_SESSION"
NO_CRASH = "a stack trace, a hang, an empty list"
GAP_WORDS = ("gap", "missing", "sequence", "seq", "expected")
LANE_WORDS = ("overlap", "second writer", "two writers", "duplicate", "sequence", "seq", "gap", "expected")


def neighbour(root: Path, sid: str = "sess-well", word: str = "neighbour", minute: int = 0, **kw) -> Session:
    """A healthy log beside the bad one."""
    log = Session(sid, minute, **kw)
    log.exchange(f"healthy {word} question", f"healthy {word} answer")
    log.write(root)
    return log
