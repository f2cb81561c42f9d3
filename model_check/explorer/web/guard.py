"""Who may ask: the browser that opened the printed address, from the page itself.

Other processes of the machine do not know the token. Other pages of the browser do not know it either; what
they could still try is ruled out one by one: a name that resolves to this machine (Host), requests across
sites (Origin, Sec-Fetch-Site, SameSite), and frames (the policy of the page).
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from kraftcheck.explorer.web.messages import Request, Response, refusal


@dataclass(frozen=True, slots=True)
class Guard:
    """The guard of the server on ``port``, whose page needs ``token``."""

    port: int
    token: str

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies are shared by all ports of a host."""
        return f"kraftcheck-{self.port}"

    @property
    def header(self) -> tuple[str, str]:
        """The header that gives a browser the token."""
        return "Set-Cookie", f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"

    def refused(self, request: Request) -> Response | None:
        """Why ``request`` gets no answer; ``None`` if it gets one."""
        host = request.headers.get("host", "")
        port = "" if self.port == 80 else f":{self.port}"  # Browsers leave the usual port out.
        if host not in (f"127.0.0.1{port}", f"localhost{port}"):
            return refusal(421, "this server answers under 127.0.0.1 and localhost alone.")
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return refusal(403, "this server answers its own page alone.")
        if request.method == "POST" and origin is None:
            return refusal(403, "this server answers its own page alone.")
        opens = request.path == "/" and request.method == "GET"
        if not opens and request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return refusal(403, "this server answers its own page alone.")
        if not self._knows_token(request, opens=opens):
            return refusal(403, "open the address that 'kraftcheck explore' printed: it has the token.")
        return None

    def _knows_token(self, request: Request, *, opens: bool) -> bool:
        given = request.arguments.get("token", "") if opens else ""
        try:
            cookies = SimpleCookie(request.headers.get("cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        stored = cookies[self.cookie].value if self.cookie in cookies else ""
        return any(hmac.compare_digest(each.encode(), self.token.encode()) for each in (given, stored))
