"""The REST API of `meaning-memory serve`: each agent reads its own memories, over the loopback.

Imports starlette. Working memories can be read and not written: they come from captures and
from mm_remember, which know the session (R-225).
"""

import hmac
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import anyio.to_thread
import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mash_plugin.errors import GroupProblem, InvalidArgument, LocalFailure, MashError, TooLarge
from mash_plugin.privacy.credentials import mask
from mash_plugin.throughline.clock import now_ms
from mash_plugin.throughline.openapi import MEMORIES, OPENAPI, SESSION, document
from mash_plugin.throughline.settings import Settings
from mash_plugin.throughline.tools import REMEMBER, SEARCH, SESSION_RECALL, Place, call_tool

LARGEST_BODY = 64 << 10
READ_ONLY = "working_read_only"
_NUMBERS: dict[str, Callable[[str], float]] = {"min_sig": float, "budget": int}
Json = dict[str, Any]


class Api(NamedTuple):
    """The agents that are served, by their tokens, and where their memories are."""

    agents: Mapping[str, str]
    settings: Settings

    def application(self) -> Starlette:
        """What a web server runs."""
        app = Starlette(
            routes=[
                Route(OPENAPI, self.describe, methods=["GET"]),
                Route(MEMORIES, self.search, methods=["GET"]),
                Route(MEMORIES, self.remember, methods=["POST"]),
                # The name of a session may hold slashes.
                Route(SESSION.replace("}", ":path}"), self.recall_session, methods=["GET"]),
            ],
            exception_handlers={HTTPException: _refused},
        )
        app.router.redirect_slashes = False  # a path with a slash too many is none
        return app

    async def describe(self, _request: Request) -> Response:
        """The OpenAPI document; it holds nothing of anybody, and needs no token."""
        return _json(document())

    async def search(self, request: Request) -> Response:
        """What mm_search answers, as data."""
        if self._agent(request) is None:
            return _unauthorized()
        asked: Json = dict(request.query_params)
        for name, number in _NUMBERS.items():
            try:
                asked |= {name: number(asked[name])} if name in asked else {}
            except ValueError:
                return _error(400, "invalid_argument", f"{name} must be a number.")
        return await self._answer(request, SEARCH, asked)

    async def recall_session(self, request: Request) -> Response:
        """What mm_session_recall answers, as data."""
        asked = {"session_id": request.path_params["session_id"]}
        return await self._answer(request, SESSION_RECALL, asked)

    async def remember(self, request: Request) -> Response:
        """Queue a long-term memory; it can be found after the next drain."""
        if self._agent(request) is None:
            return _unauthorized()
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_BODY:
                return _error(413, "too_large", f"A memory has at most {LARGEST_BODY} bytes.")
        try:
            asked = orjson.loads(body)
        except orjson.JSONDecodeError:
            asked = None
        if not isinstance(asked, dict):
            return _error(400, "invalid_argument", "The body must be one JSON object.")
        stages = (asked.get("memory_stage"), request.query_params.get("memory_stage"))
        if "working" in stages:
            why = "Working memories are read-only here; use capture-session or mm_remember."
            return _error(403, READ_ONLY, why)
        return await self._answer(request, REMEMBER, asked, 202)

    async def _answer(
        self, request: Request, tool: str, asked: Json, status: int = 200
    ) -> Response:
        agent = self._agent(request)
        if agent is None:
            return _unauthorized()
        place = Place(agent, self.settings, now_ms(os.environ))
        try:
            reply = await anyio.to_thread.run_sync(partial(call_tool, tool, asked, place))
        except MashError as error:
            return _error(_status_of(error), error.code, error.message)
        return _json(reply.data, status)

    def _agent(self, request: Request) -> str | None:
        """Whose token the request carries; every token is compared, in constant time."""
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        found = None
        for token, agent in self.agents.items():
            if hmac.compare_digest(token.encode(), given.strip().encode()):
                found = agent
        return found if kind.lower() == "bearer" else None


def _status_of(error: MashError) -> int:
    if isinstance(error, InvalidArgument):
        return 400
    is_for_later = isinstance(error, (LocalFailure, GroupProblem, TooLarge))  # a full queue
    return 503 if is_for_later else 422


async def _refused(request: Request, error: Exception) -> Response:
    """What the router refuses: a path or a method that is not there."""
    if not isinstance(error, HTTPException):
        raise error
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
    why = f"{error.detail}: {request.method} {request.url.path}. See {OPENAPI}."
    response = _error(error.status_code, code, why)
    response.headers.update(error.headers or {})
    return response


def _unauthorized() -> Response:
    why = "Send the agent's token: Authorization: Bearer TOKEN."
    response = _error(401, "unauthorized", why)
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _error(status: int, code: str, message: str) -> Response:
    return _json({"error": {"code": code, "message": mask(message)}}, status)


def _json(body: Json, status: int = 200) -> Response:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return Response(orjson.dumps(body), status, headers, "application/json")
