"""The agent tools through the protocol."""

from __future__ import annotations

from typing import Any

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.batch.world import World
from palimpsest_core.tools.access import Caller
from palimpsest_core.tools.toolbox import TOOLS, Toolbox, ToolConfig

TOOL_OPERATIONS = frozenset(f"tool:{tool.name}" for tool in TOOLS)
"""The operations that run a tool."""


def call_tool(world: World, operation: str, args: dict[str, Any], cancel: CancelToken | None) -> str:
    """Run a tool on behalf of the caller named last, as its header is now; returns the tool's text."""
    engine = world.engine()
    caller = None
    if world.caller is not None:
        header = engine.header_of(world.caller)
        caller = Caller(session_id=header.id, cwd=header.cwd)
    settings = world.settings.get("tools") or {}
    most = settings.get("maxSearchResults", ToolConfig.max_search_results)
    box = Toolbox(engine, caller, ToolConfig(max_search_results=most))
    return box.call(operation.removeprefix("tool:"), args, cancel)
