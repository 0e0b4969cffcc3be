"""Synthetic roots of logs in format v0: Zipf text, session topics, unique identifiers, paths, some Chinese.

As a live writer leaves them: a header frame, then a small frame for every few rows; about a fifth of the bytes are
packed chunk rows. The same arguments give the same corpus.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

from palimpsest_core.storage.layout import log_file_name, project_folder_name, session_folder_name

_START = 1_750_000_000_000
_SLOTS = 1 << 18
_TOOLS = ["bash", "read_file", "edit", "grep", "glob", "write_file", "web_search"]
_HAN = "数据库查询索引会话日志文件错误修复测试性能内存线程进程搜索结果配置编译运行"
_HEADS = ["", "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "st", "tr", "pr", "ch", "w", "k"]
_VOWELS = ["a", "e", "i", "o", "u", "ea", "ou", "io"]
_TAILS = ["", "n", "r", "s", "t", "l", "ng", "ck", "m", "d"]
_MIXTURE_MEAN = 731


class Shape(NamedTuple):
    """What a corpus is made of: sessions, searchable events in all, mean length of a text, working directories."""

    sessions: int
    documents: int
    mean_chars: int = 400
    projects: int = 40
    vocabulary: int = 60_000
    seed: int = 1


class Author:
    """Writes prose with the words of one vocabulary."""

    def __init__(self, shape: Shape) -> None:
        rng = random.Random(shape.seed)
        words: dict[str, None] = {}
        syllables = 1
        while len(words) < shape.vocabulary:
            if len(words) > 300 * syllables**3:
                syllables += 1
            parts = (rng.choice(_HEADS) + rng.choice(_VOWELS) + rng.choice(_TAILS) for _ in range(syllables))
            words["".join(parts)] = None
        self.words = list(words)
        weights = [1.0 / (rank + 2.7) for rank in range(len(self.words))]
        scale = _SLOTS / sum(weights)
        self._table = [w for w, weight in zip(self.words, weights) for _ in range(max(1, round(weight * scale)))]
        self._scale = shape.mean_chars / _MIXTURE_MEAN

    def length(self, rng: random.Random, median: float, sigma: float) -> int:
        """How many characters a text is to have."""
        return int(min(100_000, max(4, median * self._scale * math.exp(rng.gauss(0, sigma)))))

    def prose(self, rng: random.Random, topics: list[str], chars: int) -> str:
        """About `chars` characters of text."""
        count = max(1, chars // 6)
        out = rng.choices(self._table, k=count)
        for _ in range(count // 12):
            out[int(rng.random() * count)] = rng.choice(topics)
        for index in range(9, count, 17):
            out[index] += ".\n" if rng.random() < 0.3 else ","
        if rng.random() < 0.03:
            out.append("".join(rng.choices(_HAN, k=rng.randint(4, 40))))
        if rng.random() < 0.2:
            out.insert(0, "/".join(rng.choices(self.words, k=3)) + ".py")
        if rng.random() < 0.15:
            out.append(f"{rng.getrandbits(128):032x}")
        return " ".join(out)


class _Session:
    """The rows of one session, with a mark where a batch ends."""

    def __init__(self, author: Author, rng: random.Random, start: int) -> None:
        self._author = author
        self._rng = rng
        self._topics = rng.sample(author.words, 12)
        self._seq = 0
        self._now = start

    def _row(self, kind: str, data: dict[str, Any], **more: Any) -> dict[str, Any]:
        self._now += int(self._rng.expovariate(1 / 900)) + 1
        row = {"type": kind, "seq": self._seq, "time": self._now, "data": data, **more}
        self._seq += 1
        return row

    def _text(self, median: float, sigma: float) -> str:
        return self._author.prose(self._rng, self._topics, self._author.length(self._rng, median, sigma))

    def rows(self, documents: int) -> Iterator[tuple[dict[str, Any], bool]]:
        made, turn = 0, 1
        while made < documents:
            yield self._row("turn/start", {"turn": turn}), False
            content = [{"type": "text", "text": self._text(90, 1.0)}]
            user = {"id": f"u{self._seq}", "role": "user", "source": {"kind": "user"}, "content": content}
            yield self._row("user/message", user, surfaceOp="append"), True
            made += 1
            for step in range(self._rng.randint(1, 12)):
                rows = list(self._step(turn, step, made + 1 < documents))
                made += sum(row["type"] in ("assistant/message", "tool/call", "tool/result") for row, _ in rows)
                yield from rows
                if made >= documents:
                    break
            yield self._row("turn/end", {"turn": turn, "reason": {"kind": "completed"}}), True
            turn += 1

    def _step(self, turn: int, step: int, may_call: bool) -> Iterator[tuple[dict[str, Any], bool]]:
        place = {"turn": turn, "step": step}
        yield self._row("step/start", place), False
        text, thought = self._text(130, 1.1), self._text(120, 1.0)
        for index, (tag, body) in enumerate((("reasoning-chunks", thought), ("text-chunks", text))):
            parts = [body[at : at + 12] for at in range(0, len(body), 12)]
            if len(parts) >= 3:
                data = {**place, "index": index, "dt": [11] * (len(parts) - 1), "texts": parts}
                yield {"type": tag, "seq0": self._seq, "time0": self._now, "data": data}, True
                self._seq += len(parts)
                self._now += 11 * (len(parts) - 1)
        calls = []
        if may_call and self._rng.random() < 0.9:
            for _ in range(1 if self._rng.random() < 0.8 else 2):
                path = "/".join(self._rng.choices(self._author.words, k=3))
                arguments = json.dumps({"path": path, "query": self._text(45, 0.9)}, ensure_ascii=False)
                call = {"type": "tool-call", "id": f"call_{self._rng.getrandbits(48):012x}"}
                calls.append({**call, "name": self._rng.choice(_TOOLS), "arguments": arguments})
        content = [{"type": "reasoning", "text": thought}, {"type": "text", "text": text}, *calls]
        source = {"kind": "model", "provider": "synthetic", "model": "zipf-1"}
        message = {"id": f"a{self._seq}", "role": "assistant", "content": content, "source": source}
        usage = {"inputTokens": 1000 + self._seq, "outputTokens": len(text) // 4}
        yield self._row("assistant/message", {**place, "message": message, "usage": usage}, surfaceOp="append"), True
        for call in calls:
            named = {"callId": call["id"], "name": call["name"], "arguments": call["arguments"]}
            yield self._row("tool/call", {**place, **named}), False
            inner = [{"type": "text", "text": self._text(280, 1.55)}]
            block = {"type": "tool-result", "toolCallId": call["id"], "content": inner}
            result = {"id": f"t{self._seq}", "role": "user", "source": {"kind": "tool", "callId": call["id"]}}
            yield (
                self._row("tool/result", {**place, "message": {**result, "content": [block]}}, surfaceOp="append"),
                True,
            )
        yield self._row("step/end", place), False


_author: Author | None = None


def _begin(shape: Shape) -> None:
    global _author
    _author = Author(shape)


def _write(job: tuple[str, int, int, Shape]) -> int:
    root, number, documents, shape = job
    assert _author is not None
    rng = random.Random(shape.seed * 1_000_003 + number)
    pack = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=False)
    cwd, start = f"/home/dev/project-{number % shape.projects}", _START + rng.randrange(200 * 86_400_000)
    name = f"s{number:05x}-{rng.getrandbits(48):012x}"
    header = {"type": "session", "version": 0, "id": name, "createdAt": start, "cwd": cwd, "delegationDepth": 0}
    folder = Path(root) / project_folder_name(cwd) / session_folder_name(name)
    folder.mkdir(parents=True, exist_ok=True)
    plain = 0
    with open(folder / log_file_name(0, "zstd"), "wb") as file:
        file.write(pack.compress(json.dumps(header, separators=(",", ":")).encode() + b"\n"))
        waiting: list[str] = []
        for row, ends in _Session(_author, rng, start).rows(documents):
            waiting.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")))
            if ends and (len(waiting) >= 4 or rng.random() < 0.4):
                plain += _frame(file, pack, waiting)
        if waiting:
            plain += _frame(file, pack, waiting)
    return plain


def _frame(file: Any, pack: zstandard.ZstdCompressor, waiting: list[str]) -> int:
    blob = ("\n".join(waiting) + "\n").encode()
    file.write(pack.compress(blob))
    waiting.clear()
    return len(blob)


def make_corpus(root: Path, shape: Shape, jobs: int = 2) -> Path:
    """Write the corpus below `root` unless it is there; returns the note beside it, as old as the corpus."""
    note = root.with_name(root.name + ".json")
    wanted = list(shape)
    if note.exists() and json.loads(note.read_text())["shape"] == wanted:
        return note
    rng = random.Random(shape.seed)
    shares = [math.exp(rng.gauss(0, 0.9)) for _ in range(shape.sessions)]
    scale = shape.documents / sum(shares)
    work = [(str(root), number, max(1, round(share * scale)), shape) for number, share in enumerate(shares)]
    with ProcessPoolExecutor(min(jobs, os.cpu_count() or 1), initializer=_begin, initargs=(shape,)) as pool:
        plain = sum(pool.map(_write, work, chunksize=max(1, min(64, len(work) // 8))))
    note.write_text(json.dumps({"shape": wanted, "plain": plain}))
    return note
