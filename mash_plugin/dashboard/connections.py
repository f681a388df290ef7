"""Connections that say nothing are closed: a browser holds one of the few places at a time."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

SILENT_S = 5.0


class Connection(H11Protocol):
    """Closed when no whole request has come for a while; an answer takes as long as it takes.

    The server itself only times what follows an answer, and not once a first byte has come.
    """

    silent_s = SILENT_S
    _silence: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()

    def on_response_complete(self) -> None:
        self._await_request()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._silence is not None:
            self._silence.cancel()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
        self._silence = self.loop.call_later(self.silent_s, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
