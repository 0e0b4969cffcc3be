"""The five agent tools, the rules of who may see what, and the MCP server that offers them."""

from palimpsest_core.tools.access import Caller
from palimpsest_core.tools.errors import ToolError, ToolErrorCode
from palimpsest_core.tools.toolbox import TOOLS, Tool, Toolbox, ToolConfig

__all__ = ["TOOLS", "Caller", "Tool", "ToolConfig", "ToolError", "ToolErrorCode", "Toolbox"]
