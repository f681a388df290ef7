"""Connections that say nothing are closed: a browser holds one of the few places at a time."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SILENT_S = 5.0


class Connection(H11Protocol):
    """Closed when no whole request has come for a while; an answer takes as long as it takes.

    The server itself only times what follows an answer, and not once a first byte has come. Where
    all places are taken, whoever has been silent for longest makes room.
    """

    silent_s = SILENT_S
    _silence: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()
        self._make_room()

    def on_response_complete(self) -> None:
        self._await_request()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._silence is not None:
            self._silence.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, with the headers that every other answer has."""
        if self.conn.our_state is h11.IDLE:
            headers = [
                *self.server_state.default_headers,
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"connection", b"close"),
            ]
            answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (answer, h11.Data(data=msg.encode()), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _await_request(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
        self._silence = self.loop.call_later(self.silent_s, self._close_if_silent)

    def _make_room(self) -> None:
        if self.limit_concurrency is None or len(self.connections) < self.limit_concurrency:
            return
        others = (one for one in self.connections if isinstance(one, Connection))
        silent = [one for one in others if one is not self and one._is_silent()]
        if silent:
            oldest = min(silent, key=Connection._ends_at)
            self.connections.discard(oldest)  # it is told of its end only later
            oldest.transport.close()

    def _is_silent(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _ends_at(self) -> float:
        return self._silence.when() if self._silence else 0.0

    def _close_if_silent(self) -> None:
        if self._is_silent():
            self.transport.close()
