"""Who may read a page: this machine's own browser, with the key that the terminal printed.

Host is the control against a rebound name: such a page is of the same origin and sends no Origin.
"""

import hmac
import secrets
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mash_plugin.dashboard.address import TOKEN, origins_of
from mash_plugin.dashboard.peer import is_another_user

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""`form-action`: the search field of a page works without a script."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
"""Of every answer; the server adds them."""
NOWHERE = "There is no such page.\n"
ENTER = "Open the address that `mash dash` prints: it works once. Run `mash dash` for a new one.\n"


class Guard:
    """Lets a request through to the pages, or answers it without looking at any data."""

    def __init__(self, app: ASGIApp, port: int, root: str, token: str) -> None:
        self._app = app
        self._port = port
        self._root = root
        self._token: str | None = token
        self._origins = origins_of(port)
        self._cookie = f"mash_{port}"
        self._key = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        app = self._refusal(scope) or self._entrance(scope) or self._app
        await app({**scope, "root_path": self._root}, receive, send)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """The answer to whoever is not a page of ours and not an address typed in."""
        headers = Headers(scope=scope)
        hosts = [f"http://{host}" for host in headers.getlist("host")]
        if len(hosts) != 1 or hosts[0].lower() not in self._origins:
            return PlainTextResponse("This is no address of the dashboard.\n", 403)
        if headers.getlist("origin") not in ([], [hosts[0].lower()]):
            return PlainTextResponse("Another page asked for this.\n", 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return PlainTextResponse("Another site led here; type the address yourself.\n", 403)
        if not scope["path"].startswith(self._root + "/"):
            return PlainTextResponse(NOWHERE, 404)
        return None

    def _entrance(self, scope: Scope) -> ASGIApp | None:
        """The answer to whoever has no cookie yet, or to whoever wants to change something."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == TOKEN]
        has_cookie = self._has_cookie(scope)
        if not has_cookie and not self._may_enter(scope, tokens):
            return PlainTextResponse(ENTER, 403)
        if scope["method"] != "GET":
            return PlainTextResponse(
                "The dashboard only shows; nothing can be changed here.\n", 405, {"Allow": "GET"}
            )
        if not tokens:
            return None
        rest = urlencode([(name, value) for name, value in query if name != TOKEN])
        path = scope["path"]  # below our root, so never an address of another host
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        if not has_cookie:
            # Every server of this machine gets a cookie of "/", whatever its port.
            answer.set_cookie(
                self._cookie, self._key, path=self._root + "/", httponly=True, samesite="strict"
            )
        return answer

    def _has_cookie(self, scope: Scope) -> bool:
        wanted = f"{self._cookie}={self._key}".encode()
        pieces = ";".join(Headers(scope=scope).getlist("cookie")).split(";")
        # All are compared, whichever fits: how long it takes tells nothing.
        fits = [hmac.compare_digest(piece.strip().encode("latin-1"), wanted) for piece in pieces]
        return any(fits)

    def _may_enter(self, scope: Scope, tokens: list[str]) -> bool:
        """Whether this user's browser brings the token; in other hands it is not used up."""
        client = scope.get("client")
        if scope["method"] != "GET" or (client and is_another_user(client[1], self._port)):
            return False
        return self._take(tokens)

    def _take(self, tokens: list[str]) -> bool:
        """Whether it is the token; then it is used up."""
        if self._token is None or len(tokens) != 1:
            return False
        if not hmac.compare_digest(tokens[0].encode(), self._token.encode()):
            return False
        self._token = None
        return True
