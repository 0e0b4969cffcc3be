"""A real MCP client against the real server, over stdio: lists, searches, traces, reads, and sees nothing hidden."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from palimpsest_core.writer.demo import DemoCorpus, write_demo

CALLER, SIBLING = "0198f2c4-refund-flake", "0198f4aa-rounding-review"
TOP = Path(__file__).resolve().parents[2]
Steps = Callable[[Client], Awaitable[None]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoCorpus:
    return write_demo(tmp_path_factory.mktemp("demo") / "sessions", now=1_790_000_000_000)


@pytest.fixture
def session(demo: DemoCorpus, tmp_path: Path) -> Callable[..., None]:
    """Runs steps in a client session with a server that speaks for the caller given by `options`."""

    def run(steps: Steps, *options: str) -> None:
        server = StdioServerParameters(
            command=sys.executable,
            args=[
                *("-m", "palimpsest_tui.cli.main", "mcp", "--root", str(demo.root)),
                *("--index", str(tmp_path / "index.sqlite"), *options),
            ],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TOP / "core"), str(TOP / "tui")])},
        )

        async def connect() -> None:
            async with Client(server) as client:
                await steps(client)

        anyio.run(connect)

    return run


async def text_of(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    (block,) = result.content
    assert block.type == "text"
    assert result.is_error == block.text.startswith("SESSION_QUERY_"), block.text
    return block.text


def test_a_client_lists_five_tools_searches_traces_and_reads(session: Callable[..., None]) -> None:
    async def steps(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [
            *("session_search", "session_event_search", "session_trace", "session_event_trace", "session_event_read")
        ]
        assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)
        found = await text_of(client, "session_search", query="rounding")
        assert SIBLING in found
        assert CALLER not in found
        hit = re.search(rf"session {SIBLING}\n.*?best match: seq (\d+)", found, re.DOTALL)
        assert hit is not None
        seq = int(hit[1])
        read = await text_of(client, "session_event_read", session_id=SIBLING, seq=seq, before=1, after=1)
        assert f'"seq":{seq}' in read
        links = await text_of(client, "session_event_trace", session_id=SIBLING, seq=seq)
        assert f"seq {seq}" in links
        family = await text_of(client, "session_trace", session_id=SIBLING)
        assert "0198f4ad-worst-case" in family
        events = await text_of(client, "session_event_search", session_id=SIBLING, query="rounding")
        assert f"session {SIBLING}" in events

    session(steps, "--caller", CALLER)


def test_nothing_of_another_workspace_shows_in_any_answer(session: Callable[..., None], demo: DemoCorpus) -> None:
    ours = {path.parent.name for path in demo.root.glob("*ledgerline--/*/session*")}
    secret = set(demo.ids) - ours
    assert ours
    assert secret

    async def steps(client: Client) -> None:
        answers = [await text_of(client, "session_search", query=word) for word in ("the", "title", "error", "a")]
        for name in sorted(secret):
            for tool, rest in (
                ("session_trace", {}),
                ("session_event_read", {"seq": 0}),
                ("session_event_trace", {"seq": 0}),
                ("session_event_search", {"query": "the"}),
            ):
                answer = await text_of(client, tool, session_id=name, **rest)
                assert answer.startswith("SESSION_QUERY_TOOL_UNAUTHORIZED")
                answers.append(answer)
        answers += [await text_of(client, "session_trace", session_id=name) for name in sorted(ours)]
        shown = "\n".join(answers)
        assert [name for name in secret if name in shown] == []

    session(steps, "--caller", CALLER)


def test_a_workspace_speaks_without_a_session(session: Callable[..., None]) -> None:
    async def steps(client: Client) -> None:
        assert CALLER in await text_of(client, "session_search", query="refund")
        assert (await text_of(client, "session_trace")).startswith("SESSION_QUERY_TOOL_INVALID_ARGUMENTS")
        assert CALLER in await text_of(client, "session_trace", session_id=CALLER)

    session(steps, "--cwd", "/home/mira/code/ledgerline")


def test_another_spelling_of_the_workspace_sees_nothing(session: Callable[..., None]) -> None:
    async def steps(client: Client) -> None:
        assert "No other session" in await text_of(client, "session_search", query="refund")

    session(steps, "--cwd", "/home/mira/code/ledgerline/")


@pytest.mark.parametrize("options", [[], ["--caller", CALLER, "--cwd", "/x"], ["--caller", "nobody"]])
def test_a_caller_must_be_named_by_the_operator(
    options: list[str], demo: DemoCorpus, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from palimpsest_tui.cli import main as script

    arguments = ["mcp", "--root", str(demo.root), "--index", str(tmp_path / "i.sqlite"), *options]
    assert script.run(arguments) in (1, 2)
    assert capfd.readouterr().out == ""
