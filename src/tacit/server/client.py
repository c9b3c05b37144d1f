"""A client of the scoring server's API: a kept connection for each thread, one sentence for every refusal."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Callable, Mapping
from time import monotonic, sleep
from types import TracebackType
from typing import Any, BinaryIO
from urllib.parse import SplitResult, quote, urlencode, urlsplit
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike

from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks import OracleError

__all__ = ["ServerBusy", "ServerClient", "ServerUnreachable"]

_LARGEST = 1 << 26
_SHORTEST, _PAUSE = 0.05, 2.0


class ServerUnreachable(OracleError):
    """The server did not answer, or failed: not a refusal, so nothing may be concluded from it."""


def _parts_of(url: str) -> SplitResult:
    """Return the parts of an address; raise if no connection can be made to such a one."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host = (parts.hostname or "").encode("idna").decode()
        _ = parts.port
        if parts.scheme in ("http", "https") and host.isprintable() and host and " " not in host:
            return parts
    except ValueError:  # of the port, of an address in brackets, or of the encoding
        pass
    raise InvalidInput(f"must be a server's address as http://127.0.0.1:8000, got {url!r}", field="url")


class ServerBusy(ServerUnreachable):
    """The server asks to wait: too many requests, or no room; nothing was done."""

    def __init__(self, sentence: str, *, seconds: float) -> None:
        super().__init__(sentence)
        self.seconds = seconds


class ServerClient:
    """Talk to a scoring server.

    Parameters
    ----------
    patience
        For how many seconds a submission is sent again while the server is busy or cannot be reached. It has a name of
        its own, so that it counts once whatever is lost on the way.
    tell
        Is told why and how long the client waits.
    """

    def __init__(
        self,
        *,
        url: str,
        token: str | None = None,
        timeout: float = 60.0,
        patience: float = 0.0,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._patience, self._tell = patience, tell
        parts = _parts_of(url)
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._path = parts.path.rstrip("/")
        self._token = token
        self._parts, self._timeout = parts, timeout
        self._own = threading.local()
        self._open: list[http.client.HTTPConnection] = []

    def __enter__(self) -> ServerClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._open:
            connection.close()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,  # noqa: ANN401
        *,
        content_type: str = "application/json",
        key: str | None = None,
        token: str | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:  # noqa: ANN401
        """Send a request under ``/api/v1`` and return the JSON that comes back.

        Parameters
        ----------
        key
            A name of the client's own for the request: sent twice under the same one, it counts once.
        token
            The token of this request; default: the client's own.
        query
            What stands behind the question mark of the address.

        Raises
        ------
        OracleError
            With the server's own sentence where it refuses.
        ServerUnreachable
            The server did not answer, or failed.
        """
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json"}
        if token or self._token:
            headers["Authorization"] = f"Bearer {token or self._token}"
        if sent is not None:
            headers["Content-Type"] = content_type
        if key is not None:
            headers["Idempotency-Key"] = key
        asked = f"?{urlencode(query)}" if query else ""
        status, text, pause = self._send(method, f"{self._path}/api/v1{quote(path)}{asked}", sent, headers)
        return self._read(status, text, pause=pause)

    def fetch(self, path: str, sink: BinaryIO, *, query: Mapping[str, str]) -> None:
        """Write an answer of any size into a file, piece by piece; a refusal raises as with :meth:`call`."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        connection = self._connection()
        try:
            connection.request("GET", f"{self._path}/api/v1{quote(path)}?{urlencode(query)}", headers=headers)
            response = connection.getresponse()
            if response.status >= 400:
                self._read(response.status, response.read(_LARGEST))
            while piece := response.read(1 << 16):
                sink.write(piece)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise ServerUnreachable(f"{self.url} did not send all of it: {type(error).__name__}") from None

    def _read(self, status: int, text: bytes, *, pause: str | None = None) -> Any:  # noqa: ANN401
        """Return the JSON of an answer, or raise what it refuses."""
        try:
            answer = json.loads(text)
        except ValueError:
            raise ServerUnreachable(f"{self.url} does not answer as a scoring server does (status {status})") from None
        if status >= 400:
            said = answer.get("error") if isinstance(answer, dict) else None
            if pause is not None and pause.isdecimal():
                raise ServerBusy(f"the server refuses: {said or f'status {status}'}", seconds=float(pause))
            refusal = ServerUnreachable if status >= 500 else OracleError
            raise refusal(f"the server refuses: {said or f'status {status}'}")
        return answer

    def submit(self, slug: str, predictions: ArrayLike, *, token: str | None = None) -> str:
        """Submit predictions and return the released score as it is shown; a lost connection costs no submission."""
        body = {"predictions": np.asarray(predictions).tolist()}
        return str(
            self.submit_file(slug, json.dumps(body).encode(), content_type="application/json", token=token)["text"]
        )

    def submit_file(
        self, slug: str, content: bytes, *, content_type: str = "text/csv", note: str = "", token: str | None = None
    ) -> Any:  # noqa: ANN401
        """Submit a file of predictions and return the server's answer; wait as long as the client has patience."""
        key, until = uuid4().hex, monotonic() + self._patience
        query = {"note": note} if note else None
        while True:
            try:
                return self.call(
                    "POST",
                    f"/competitions/{slug}/submissions",
                    content,
                    content_type=content_type,
                    key=key,
                    token=token,
                    query=query,
                )
            except ServerUnreachable as busy:
                pause = max(_SHORTEST, busy.seconds if isinstance(busy, ServerBusy) else _PAUSE)
                if monotonic() + pause > until:
                    raise
                self._tell(f"{busy}; trying again in {pause:.0f} s")
                sleep(pause)

    def _connection(self) -> http.client.HTTPConnection:
        """Return this thread's connection."""
        found: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if found is None:
            if self._parts.scheme == "https":
                context = ssl.create_default_context()
                found = http.client.HTTPSConnection(self._parts.netloc, timeout=self._timeout, context=context)
            else:
                found = http.client.HTTPConnection(self._parts.netloc, timeout=self._timeout)
            self._own.connection = found
            self._open.append(found)
        return found

    def _send(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes, str | None]:
        connection = self._connection()
        for again in (True, False):
            try:
                connection.request(method, path, body=body, headers=headers)
                response = connection.getresponse()
                return response.status, response.read(_LARGEST), response.getheader("retry-after")
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
                connection.close()  # an idle connection that the server gave up
                if not again or (method != "GET" and "Idempotency-Key" not in headers):
                    raise ServerUnreachable(f"{self.url} closed the connection ({type(error).__name__})") from None
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                raise ServerUnreachable(f"{self.url} cannot be reached: {error}") from None
        raise AssertionError("unreachable")
