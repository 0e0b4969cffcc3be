"""A builder that turns a told story ("the user asks, the model greps, edits, answers") into the events of a real log."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from typing import Any

from palimpsest_core.writer.demo.calls import TOOLS, Call, Row

_PIECE = re.compile(r"\s*\S{1,7}|\s+")
PROVIDER = "deepseek"
SYSTEM_PROMPT = (
    "You are a careful coding agent working in the user's repository. Read before you edit, run the tests that cover "
    "what you touched, and say plainly what you could not verify."
)


@dataclass
class Script:
    """Events of one session in the order in which the harness logs them. `start` is epoch milliseconds.

    Every method appends; `batches` are the durable appends, closed by `flush`. Times move forward by lifelike, seeded
    amounts. `model` is what the request header names.
    """

    id: str
    start: int
    cwd: str | None = None
    parent: str | None = None
    origin: str | None = None
    depth: int = 0
    preset: str | None = None
    model: str = "deepseek-v4-flash"
    stream: bool = True
    seed_length: int | None = None
    batches: list[list[Row]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.id)
        self.time = self.start
        self.events: list[Row] = []
        self._written = 0
        self.turn = 0
        self.step_no = 0
        self._headed = False
        self._serial = 0
        self.prompt_seqs: list[int] = []

    @property
    def header(self) -> Row:
        """The header line's object, keys in the harness's order."""
        out: Row = {"type": "session", "version": 0, "id": self.id, "createdAt": self.start}
        optional = {
            "cwd": self.cwd,
            "parentSession": self.parent,
            "seedLength": self.seed_length,
            "origin": self.origin,
        }
        out.update({key: value for key, value in optional.items() if value is not None})
        out["delegationDepth"] = self.depth
        if self.preset is not None:
            out["agentPreset"] = self.preset
        return out

    def wait(self, seconds: float) -> None:
        """Let time pass, give or take a fifth."""
        self.time += int(seconds * 1000 * self.rng.uniform(0.8, 1.2))

    def log(
        self, kind: str, data: Any, *, sources: list[int] | None = None, op: Any = None, after: float = 0.01
    ) -> int:
        """Append one event and return its seq."""
        self.wait(after)
        row: Row = {"type": kind, "seq": len(self.events), "time": self.time, "data": data}
        if sources is not None:
            row["sourceEventSeqs"] = sources
        if op is not None:
            row["surfaceOp"] = op
        self.events.append(row)
        return int(row["seq"])

    def flush(self) -> None:
        """Close the current durable batch."""
        if self._written < len(self.events):
            self.batches.append(self.events[self._written :])
            self._written = len(self.events)

    def name(self, kind: str) -> str:
        """A fresh id such as `msg_4f0c21`, the same in every run."""
        self._serial += 1
        return f"{kind}_{self.rng.getrandbits(40):010x}{self._serial:02d}"

    # --- turns -------------------------------------------------------------------------------------------------

    def user(self, text: str, *, images: list[Row] | None = None, idle: float = 40.0, title: str | None = None) -> int:
        """A human prompt that opens a turn (and its first step); returns the seq of the message on the surface."""
        content: list[Row] = [{"type": "text", "text": text}]
        content += [{"type": "image", "attachment": image} for image in images or []]
        message = {"id": self.name("msg"), "role": "user", "content": content, "source": {"kind": "user"}}
        self.log("agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": [message]}, after=idle)
        self.turn += 1
        self.step_no = 0
        self.log("turn/start", {"turn": self.turn})
        self.log("agent/inbox/spliced", {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []})
        self._open_step()
        seq = self.log("user/message", message, op="append")
        self.prompt_seqs.append(seq)
        if title is not None:
            words = " ".join(text.split()[:5])
            self.log("session/title", {"title": words, "messageSeqs": [seq], "source": {"kind": "fallback"}})
        if not self._headed:
            self._headed = True
            self.request("initial")
        if title is not None:
            source = {
                "kind": "provider",
                "provider": "first-prompt-llm",
                "model": {"provider": PROVIDER, "model": self.model},
            }
            self.log("session/title", {"title": title, "messageSeqs": [seq], "source": source}, after=1.2)
        return seq

    def request(self, reason: str) -> None:
        """The envelope of the requests that follow: model, system prompt, tools."""
        header = {
            "config": {"provider": PROVIDER, "model": self.model},
            "system": SYSTEM_PROMPT,
            "tools": [TOOLS[name] for name in ("read_file", "grep", "edit_file", "bash")],
        }
        self.log("request/header", {"header": header, "reason": reason})
        self.log("request/context", {"provider": PROVIDER, "model": self.model, "contextWindow": 131072})

    def _open_step(self) -> None:
        self.step_no += 1
        self.log("step/start", {"turn": self.turn, "step": self.step_no})

    def step(self, *, think: str = "", say: str = "", calls: list[Call] | None = None, close: bool = True) -> int:
        """One model answer with its tool calls; returns the seq of the assistant message.

        The first step of a turn is open already. With `close=False` the step stays open (an interrupted log).
        """
        if self.events[-1]["type"] == "step/end":
            self._open_step()
        calls = calls or []
        blocks: list[Row] = []
        if think:
            blocks.append({"type": "reasoning", "text": think})
        if say:
            blocks.append({"type": "text", "text": say})
        ids = [self.name("call") for _ in calls]
        for call_id, call in zip(ids, calls):
            arguments = json.dumps(call.args, ensure_ascii=False, separators=(",", ":"))
            blocks.append({"type": "tool-call", "id": call_id, "name": call.name, "arguments": arguments})
        usage = self._usage(blocks)
        chunks = self._streamed(blocks, usage, bool(calls)) if self.stream else []
        source = {"kind": "model", "provider": PROVIDER, "model": self.model}
        message = {"id": self.name("msg"), "role": "assistant", "content": blocks, "source": source}
        seq = self.log(
            "assistant/message",
            {"turn": self.turn, "step": self.step_no, "message": message, "usage": usage},
            sources=chunks,
            op="append",
        )
        self.flush()
        for call_id, call in zip(ids, calls):
            self.answer(call_id, call)
        if close:
            self.log("step/end", {"turn": self.turn, "step": self.step_no})
            self.flush()
        return seq

    def answer(self, call_id: str, call: Call) -> int | None:
        """The record of a tool call and, unless it never came back, its result; returns the seq of the result."""
        where = {"turn": self.turn, "step": self.step_no}
        arguments = json.dumps(call.args, ensure_ascii=False, separators=(",", ":"))
        started = self.log("tool/call", {**where, "callId": call_id, "name": call.name, "arguments": arguments})
        if call.result is None:
            return None
        content: list[Row] = [{"type": "text", "text": call.result}]
        if call.image is not None:
            content.append({"type": "image", "attachment": call.image})
        result: Row = {
            "type": "tool-result",
            "toolCallId": call_id,
            "content": content,
            "isError": call.error is not None,
        }
        message = {
            "id": self.name("msg"),
            "role": "user",
            "content": [result],
            "source": {"kind": "tool", "callId": call_id},
        }
        data: Row = {**where, "message": message}
        if call.error is not None:
            data["error"] = {"name": call.error[0], "code": call.error[1]}
        if call.meta is not None:
            data["meta"] = call.meta
        return self.log("tool/result", data, sources=[started], op="append", after=call.seconds)

    def end(self, kind: str = "completed", **extra: Any) -> None:
        """Close the turn (and the step, when one is open)."""
        if self.events[-1]["type"] != "step/end":
            self.log("step/end", {"turn": self.turn, "step": self.step_no})
        self.log("turn/end", {"turn": self.turn, "reason": {"kind": kind, **extra}})
        self.flush()

    # --- streaming -----------------------------------------------------------------------------------------------

    def _chunk(self, chunk: Row, after: float = 0.0) -> int:
        if after:
            self.time += max(1, int(after * 1000))
        row = {"turn": self.turn, "step": self.step_no, "chunk": chunk}
        self.events.append({"type": "assistant/chunk", "seq": len(self.events), "time": self.time, "data": row})
        return len(self.events) - 1

    def _streamed(self, blocks: list[Row], usage: Row, calls: bool) -> list[int]:
        self.wait(1.1)
        first = len(self.events)
        for index, block in enumerate(blocks):
            self._chunk({"type": "block-start", "index": index, "blockType": block["type"]}, 0.02)
            whole = block["arguments"] if block["type"] == "tool-call" else block["text"]
            for piece in _PIECE.findall(whole):
                pause = self.rng.choice((0.004, 0.009, 0.014, 0.031))
                if block["type"] == "tool-call":
                    delta = {
                        "type": "tool-call-delta",
                        "index": index,
                        "id": block["id"],
                        "name": block["name"],
                        "argumentsDelta": piece,
                    }
                else:
                    kind = "text-delta" if block["type"] == "text" else "reasoning-delta"
                    delta = {"type": kind, "index": index, "text": piece}
                self._chunk(delta, pause)
            self._chunk({"type": "block-end", "index": index, "block": block}, 0.002)
        self._chunk({"type": "usage", "usage": usage}, 0.01)
        self._chunk({"type": "finish", "reason": {"kind": "tool-calls" if calls else "stop"}}, 0.001)
        return list(range(first, len(self.events)))

    def _usage(self, blocks: list[Row]) -> Row:
        written = sum(len(block.get("text", "") + block.get("arguments", "")) for block in blocks) // 4 + 3
        read = 2100 + 40 * len(self.events) // 10 + self.rng.randrange(400)
        return {"inputTokens": read // 4, "outputTokens": written, "cacheReadTokens": read - read // 4}

    # --- bookkeeping ---------------------------------------------------------------------------------------------

    def todos(self, *items: tuple[str, str]) -> None:
        """The whole list each time: (status, content)."""
        self.log("todo/write", {"todos": [{"content": content, "status": status} for status, content in items]})

    def rename(self, title: str) -> None:
        """A title that the user typed."""
        self.log("session/title", {"title": title, "messageSeqs": [], "source": {"kind": "user"}}, after=6)
        self.flush()

    def retry(self, message: str, code: str, status: int | None = None) -> None:
        """A provider failure and the retry that follows it."""
        where = {"turn": self.turn, "step": self.step_no}
        retry_id = self.name("retry")
        failure: Row = {"message": message, "code": code}
        if status is not None:
            failure["status"] = status
        base = {"retryId": retry_id, **where, "provider": PROVIDER, "mode": "normal", "policyKey": "default"}
        self.log("llm/retry", {**base, "retry": 1, "delayMs": 1000, "failure": failure, "maxRetries": 4}, after=2)
        self.log("llm/retry-started", {"retryId": retry_id, **where, "retry": 1}, after=1)

    def compact(self, first: int, last: int, summary: str) -> int:
        """Replace the surface slice `first..last` (seqs of surface events) by a summary; returns the checkpoint's seq."""
        surface = self.surface()
        shadowed = surface[surface.index(first) : surface.index(last) + 1]
        tag = self.name("compaction")
        start = self.log("compaction/start", {"compactionId": tag, "turn": None}, after=3)
        span = {"start": first, "end": last}
        data = {
            "compactionId": tag,
            "summary": [{"type": "text", "text": summary}],
            "shadowedRange": span,
            "shadowedSeqs": shadowed,
            "shadowedTokenCount": 900 * len(shadowed),
            "provider": PROVIDER,
            "model": self.model,
        }
        noted = self.log("compaction/summary", data, after=4)
        source = {"kind": "plugin", "plugin": "compact", "compactionId": tag}
        message = {
            "id": self.name("msg"),
            "role": "user",
            "content": [{"type": "text", "text": summary}],
            "source": source,
        }
        op = {"op": "replace", "start": first, "end": last}
        seq = self.log("user/message", message, sources=[*shadowed, start, noted], op=op)
        self.log("compaction/end", {"compactionId": tag, "turn": None})
        self.flush()
        return seq

    def prune(self, seq: int, kept: str) -> int:
        """Replace the tool result `seq` by a shorter text; returns the seq of the pruned result."""
        old = self.events[seq]["data"]
        span = {"start": seq, "end": seq}
        self.log("compaction/prune", {"shadowedRange": span, "shadowedSeqs": [seq], "shadowedTokenCount": 4200})
        block = old["message"]["content"][0]
        message = {**old["message"], "content": [{**block, "content": [{"type": "text", "text": kept}]}]}
        return self.log("tool/result", {**old, "message": message}, sources=[seq], op={"op": "replace", **span})

    def notice(self, text: str, plugin: str = "file-watcher") -> int:
        """Context that a plugin put into the conversation."""
        source = {"kind": "plugin", "plugin": plugin, "form": "notice", "summary": text.split("\n")[0]}
        message = {
            "id": self.name("msg"),
            "role": "user",
            "content": [{"type": "text", "text": text}],
            "source": source,
        }
        return self.log("user/message", message, op="append")

    def delegated(self, child: Script, prompt: str) -> Call:
        """The tool call of a parent whose subagent `child` has finished: its last words are the result."""
        asked = next(event["data"] for event in child.events if event["type"] == "subagent/descriptor")
        last = next(event["data"] for event in reversed(child.events) if event["type"] == "assistant/message")
        said = "".join([block["text"] for block in last["message"]["content"] if block["type"] == "text"])
        args = {"label": asked["label"], "prompt": prompt}
        return Call("subagent", args, said, meta={"childSessionId": child.id}, seconds=(child.time - self.time) / 1000)

    def approved(self, tool: str, reason: str, outcome: str = "allowed-once") -> None:
        """A question to the user before a tool runs, and the answer."""
        ask = self.name("approval")
        self.log("approval/asked", {"id": ask, "toolName": tool, "reason": reason})
        self.log("approval/decided", {"id": ask, "outcome": outcome}, after=5)

    def command(self, name: str, args: str, text: str) -> None:
        """A slash command of the user between turns."""
        run = self.name("command")
        self.log("command/run", {"commandId": run, "name": name, "args": args, "source": {"kind": "user"}}, after=15)
        self.log("command/done", {"commandId": run, "kind": "success", "text": text}, after=0.3)
        self.flush()

    def spawned(self, label: str, persona: str | None = None) -> None:
        """What a subagent's log says about itself."""
        data: Row = {"version": 2, "mode": "one-shot", "provider": "in-process", "label": label}
        if persona is not None:
            data["persona"] = persona
        self.log("subagent/descriptor", data)

    # --- relations -----------------------------------------------------------------------------------------------

    def surface(self) -> list[int]:
        """The folded surface by now: seqs in model order."""
        out: list[int] = []
        for row in self.events:
            op = row.get("surfaceOp")
            if op == "append":
                out.append(row["seq"])
            elif op is not None:
                out[out.index(op["start"]) : out.index(op["end"]) + 1] = [row["seq"]]
        return out

    def results(self) -> list[int]:
        """Seqs of the tool results on the surface."""
        return [seq for seq in self.surface() if self.events[seq]["type"] == "tool/result"]

    def fork(self, id: str, start: int, *, turns: int | None = None) -> Script:
        """A new session that takes over the events through the end of turn `turns` (all, if not given)."""
        ends = [row["seq"] for row in self.events if row["type"] == "turn/end"]
        cut = (ends[-1] if turns is None else ends[turns - 1]) + 1
        while cut < len(self.events) and self.events[cut]["type"] == "session/title":
            cut += 1
        child = Script(id=id, start=start, cwd=self.cwd, parent=self.id, model=self.model, seed_length=cut)
        child.events = list(self.events[:cut])
        child.time = start
        child.turn = len(ends) if turns is None else turns
        child._headed = True
        child.log("session/end-seed", {}, after=0)
        child.flush()
        return child

    def subagent(self, id: str, label: str, *, persona: str | None = None, preset: str | None = None) -> Script:
        """A fresh child session one level deeper, started now."""
        child = Script(
            id=id,
            start=self.time,
            cwd=self.cwd,
            parent=self.id,
            origin="subagent",
            depth=self.depth + 1,
            model=self.model,
            preset=preset,
        )
        child.spawned(label, persona)
        return child
