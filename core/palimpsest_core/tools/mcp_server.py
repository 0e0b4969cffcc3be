"""The five tools as an MCP server over stdio. The SDK is imported when the server starts, not before."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import SessionQueryError
from palimpsest_core.tools.errors import ToolError
from palimpsest_core.tools.toolbox import TOOLS, Toolbox

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

INSTRUCTIONS = (
    "Read-only search and reading of earlier sessions of the caller's workspace. Search first, then trace or read what "
    "was found. Sequence numbers (seq) name the events of one session."
)


def make_server(toolbox: Toolbox, version: str) -> Server[Any]:
    """An MCP server that offers the five tools of `toolbox`; the caller it speaks for is fixed by the box.

    Every call runs in a thread of its own, so the three that may run side by side do. A cancelled request sets the
    call's token. Raises ImportError where the SDK is not installed.
    """
    import anyio
    import anyio.to_thread
    from mcp import types
    from mcp.server.lowlevel import Server

    read_only = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name, description=tool.description, input_schema=tool.schema, annotations=read_only
                )
                for tool in TOOLS
            ]
        )

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        cancel = CancelToken()
        work = partial(toolbox.call, params.name, params.arguments or {}, cancel)
        try:
            text, failed = await anyio.to_thread.run_sync(work, abandon_on_cancel=True), False
        except (ToolError, SessionQueryError) as error:
            text, failed = f"{error.code.value}: {error.message}", True
        except anyio.get_cancelled_exc_class():
            cancel.set()
            raise
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)

    return Server(
        "palimpsest", version=version, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def serve_stdio(toolbox: Toolbox, version: str) -> None:
    """Serve one client over stdin and stdout until it hangs up. Raises ImportError where the SDK is missing."""
    import anyio
    from mcp.server.stdio import stdio_server

    server = make_server(toolbox, version)

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)
