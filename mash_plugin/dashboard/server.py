"""Serve the pages to one browser of this machine until the terminal ends."""

import asyncio
import gc
import logging
import socket
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from mash_plugin.dashboard.connections import Connection
from mash_plugin.dashboard.guard import HEADERS, NOWHERE, Guard
from mash_plugin.dashboard.pages import PAGES, RAW, failure_page
from mash_plugin.dashboard.place import Place
from mash_plugin.errors import (
    ChatNotFound,
    Forgotten,
    MashError,
    MessageNotFound,
    NotFound,
    RuleBroken,
)

STATIC = {
    "dash.css": "text/css; charset=utf-8",
    "dash.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
MOST_CONNECTIONS = 64
LOOK_EVERY_S = 1.0
STILL_THERE = 15
"""Looks without a change after which a line is sent, so that a closed page is noticed."""


class _Stopping(NamedTuple):
    """Whether the server is on its way out: what waits for changes must not hold it up."""

    server: uvicorn.Server

    def __bool__(self) -> bool:
        return self.server.should_exit


def serve(sockets: list[socket.socket], token: str, place: Place) -> None:
    """Answer until a signal ends it."""
    # Not an application: its middleware would be imported before the first answer.
    app = Router(default=_nowhere, redirect_slashes=False)
    config = configured(Guard(app, sockets[0].getsockname()[1], place.root, token))
    server = uvicorn.Server(config)
    app.routes.extend(_routes(place, _Stopping(server)))
    threading.Thread(target=_warm_up, args=(place,), daemon=True).start()
    server.run(sockets=sockets)


def configured(
    app: ASGIApp, connection: type[Connection] = Connection, most: int = MOST_CONNECTIONS
) -> uvicorn.Config:
    """How the server runs: its own answers, such as to one connection too many, are guarded too."""
    return uvicorn.Config(
        app,
        http=connection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="error",  # who connects must not fill the terminal
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who asks is said by the connection alone
        headers=list(HEADERS.items()),
        limit_concurrency=most,
        timeout_graceful_shutdown=1,
    )


def _warm_up(place: Place) -> None:
    """Read templates and count once, while the browser is still starting."""
    try:
        with suppress(MashError):
            PAGES["/memory"](place, {}, {})
    finally:
        gc.freeze()  # what is there by now stays, and need not be looked at again
        gc.enable()


def _routes(place: Place, stopping: _Stopping) -> list[Route]:
    static = Path(__file__).parent / "static"

    async def page(request: Request) -> Response:
        return await run_in_threadpool(_page, place, request)

    async def raw(request: Request) -> Response:
        return await run_in_threadpool(_raw, place, request)

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return PlainTextResponse(NOWHERE, 404)
        body = (static / name).read_bytes()
        return Response(body, headers={"Content-Type": STATIC[name]})

    async def live(_request: Request) -> Response:
        return StreamingResponse(_changes(place, stopping), media_type="text/event-stream")

    return [
        *(Route(path, page) for path in PAGES),
        *(Route(path, raw) for path in RAW),
        Route("/static/{name}", file),
        Route("/live", live),
    ]


def _page(place: Place, request: Request) -> Response:
    path = request.scope["route"].path if "route" in request.scope else request.url.path
    query: Mapping[str, str] = request.query_params
    try:
        return HTMLResponse(PAGES[path](place, query, request.path_params))
    except MashError as error:
        return HTMLResponse(failure_page(place, error), _status(error))
    except Exception as error:  # the reader's boundary: told in words, whatever it was
        return _failed(error)


def _raw(place: Place, request: Request) -> Response:
    try:
        body = RAW[request.scope["route"].path](place, request.path_params)
    except MashError as error:
        return PlainTextResponse(error.message, _status(error))
    except Exception as error:
        return _failed(error)
    return Response(body, media_type="application/json")


async def _changes(place: Place, stopping: _Stopping) -> AsyncIterator[str]:
    """A line for every change of the store or of the index, for as long as the page is open."""
    known: dict[str, Any] | None = None
    quiet = 0
    yield "retry: 2000\n\n"
    while not stopping:
        try:
            found = await run_in_threadpool(place.ask, "view_version", {})
        except MashError:
            found = dict(known or {})
        found["looks"] = place.findings.looks
        quiet += 1
        if known is not None and found != known:
            yield "event: change\ndata: \n\n"
            quiet = 0
        elif known is None:
            yield "event: ready\ndata: \n\n"
        elif quiet >= STILL_THERE:
            yield ": still there\n\n"
            quiet = 0
        known = found
        await asyncio.sleep(LOOK_EVERY_S)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(NOWHERE, 404)(scope, receive, send)


def _failed(error: Exception) -> Response:
    """Told to the reader; the terminal hears more."""
    logging.getLogger(__name__).error("a page failed", exc_info=error)
    kind = type(error).__name__
    return PlainTextResponse(f"Something failed inside mash ({kind}); see `mash doctor`.\n", 500)


def _status(error: MashError) -> int:
    match error:
        case NotFound() | Forgotten() | ChatNotFound() | MessageNotFound():
            return 404
        case RuleBroken():
            return 400
        case _:
            return 503
