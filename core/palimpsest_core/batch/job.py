"""One job from its first request to its last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palimpsest_core.base.cancel import CancelToken
from palimpsest_core.base.errors import SessionQueryError
from palimpsest_core.batch.controls import CONTROLS
from palimpsest_core.batch.operations import OPERATIONS, ProtocolError
from palimpsest_core.batch.text import as_doubles
from palimpsest_core.batch.toolcalls import TOOL_OPERATIONS, call_tool
from palimpsest_core.batch.world import World
from palimpsest_core.tools.errors import ToolError


class JobError(ValueError):
    """What was given is no job. `problems` says what is wrong with it, one sentence each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = list(problems)


def job_problems(job: object) -> list[str]:
    """What keeps a value from being a job: each key that is missing or has another type, one sentence each."""
    if not isinstance(job, dict):
        return ["The job must be a JSON object with root, index_path, config and requests."]
    problems = [problem for key, kind, told in _JOB_KEYS if (problem := _key_problem(job, key, kind, told))]
    requests = job.get("requests")
    for number, request in enumerate(requests if isinstance(requests, list) else ()):
        if not isinstance(request, dict):
            problems.append(f"Request {number} must be an object.")
        elif not isinstance(request.get("id"), (str, int, float)):
            problems.append(f"Request {number} needs an id, a string or a number.")
        elif not isinstance(request.get("op"), str):
            problems.append(f"Request {request['id']} needs an op, a string.")
    return problems


_JOB_KEYS: tuple[tuple[str, type, str], ...] = (
    ("root", str, "a string: the folder of the logs"),
    ("index_path", str, 'a string: the file of the index, or ":memory:"'),
    ("config", dict, "an object"),
    ("requests", list, "a list of objects with id, op and args"),
)
"""The keys of a job, their types, and how a sentence tells them. `config` may be absent or null."""


def _key_problem(job: dict[Any, Any], key: str, kind: type, told: str) -> str:
    if key == "config" and job.get(key) is None:
        return ""
    if key not in job:
        return f"The job has no {key}; it must be {told}."
    return "" if isinstance(job[key], kind) else f"The job's {key} must be {told}."


def run_job(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Answer every request of `job`, in order; each result has the request's `id` and either `value` or `error`.

    Never raises for what a request asks: an error is `{"code", "message"}`, the code null for a refused control
    operation. Raises `JobError` for what is no job.
    """
    problems = job_problems(job)
    if problems:
        raise JobError(problems)
    world = World(job["root"], job["index_path"], job.get("config") or {})
    results: list[dict[str, Any]] = []
    answers: dict[Any, dict[str, Any]] = {}
    try:
        for request in job["requests"]:
            result = {"id": request["id"], **_answer(world, request, answers)}
            results.append(result)
            answers[request["id"]] = result
    finally:
        world.close()
    return results


def _answer(world: World, request: dict[str, Any], answers: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    try:
        return {"value": as_doubles(_value(world, request, answers))}
    except (SessionQueryError, ToolError, ProtocolError) as error:
        return {"error": {"code": str(error.code), "message": error.message}}
    except Exception as error:
        # The protocol has a place for refusals outside the documented codes, and a job must go on after one.
        code = getattr(error, "code", None)
        return {
            "error": {"code": code if isinstance(code, str) else None, "message": f"{type(error).__name__}: {error}"}
        }


def _value(world: World, request: dict[str, Any], answers: dict[Any, dict[str, Any]]) -> Any:
    name = request["op"]
    args = request.get("args") or {}
    if name in CONTROLS:
        CONTROLS[name](world, args)
        return None
    if name in TOOL_OPERATIONS:
        return {"text": call_tool(world, name, args, token_of(request))}
    operation = OPERATIONS.get(name)
    if operation is None:
        raise ProtocolError("PROTOCOL_UNKNOWN_OP", f"There is no operation {name}.")
    return operation(world.engine(), _with_cursor(args, answers), token_of(request))


class _AtFirstLook(CancelToken):
    """A token that is set by whoever looks at it first: the call has started then and cannot have finished."""

    __slots__ = ()

    def is_set(self) -> bool:
        self.set()
        return True

    def raise_if_set(self) -> None:
        self.set()
        super().raise_if_set()


def token_of(request: dict[str, Any]) -> CancelToken | None:
    """The token that a request's `cancel` asks for."""
    when = request.get("cancel")
    if when is None:
        return None
    if when == "during":
        return _AtFirstLook()
    token = CancelToken()
    token.set()
    return token


def _with_cursor(args: dict[str, Any], answers: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    """`args` with `{"$cursorOf": ID}` replaced by the cursor of that earlier result."""
    wanted = args.get("cursor")
    if not isinstance(wanted, dict) or "$cursorOf" not in wanted:
        return args
    value = answers.get(wanted["$cursorOf"], {}).get("value")
    cursor = value.get("nextCursor") if isinstance(value, dict) else None
    if cursor is None:
        raise ProtocolError("PROTOCOL_NO_CURSOR", f"The result {wanted['$cursorOf']} has no nextCursor.")
    return {**args, "cursor": cursor[::-1] if wanted.get("reversed") is True else cursor}
