"""Connections that strangers cannot hold: few per address, headers in time and in size, bodies at a pace."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Collection

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tacit.server.limits import ServerLimits

__all__ = ["bounded_protocol", "network_of"]

_TICK = 10.0
"""Seconds between two looks at how much of a body has come."""
_SLOW_READER = 60.0
"""Seconds that an answer may wait for its reader."""


def network_of(client: tuple[str, int] | None) -> str:
    """Return whose connection it is, for counting: an IPv4 address, or the /64 network of an IPv6 address."""
    if client is None:
        return "unknown"
    try:
        address = ipaddress.ip_address(client[0])
    except ValueError:
        return client[0]
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def bounded_protocol(
    limits: ServerLimits, *, held: Counter[str], trusted: Collection[str] = ()
) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with the limits of a server.

    Parameters
    ----------
    held
        Counts the open connections by address.
    trusted
        Proxies, which may have any number of connections.
    """

    class BoundedProtocol(HttpToolsProtocol):
        """One connection; it is closed without an answer where it exceeds a limit."""

        _whose = ""
        _deadline: asyncio.TimerHandle | None = None
        _in_headers = True
        _saw_headers = False
        _header_bytes = 0
        _body_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._whose = network_of(self.client)
            held[self._whose] += 1
            if held[self._whose] > limits.connections and (self.client is None or self.client[0] not in trusted):
                transport.abort()
            else:
                self._wait(limits.header_seconds)

        def connection_lost(self, exc: Exception | None) -> None:
            self._wait(None)
            held[self._whose] -= 1
            if held[self._whose] <= 0:
                del held[self._whose]
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            in_headers, self._saw_headers = self._in_headers, False
            super().data_received(data)
            if in_headers and not self._saw_headers:
                self._header_bytes += len(data)
                if self._header_bytes > limits.header_bytes:
                    self.transport.abort()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._header_bytes = 0
            self._wait(limits.header_seconds)

        def on_headers_complete(self) -> None:
            self._in_headers, self._saw_headers, self._body_bytes = False, True, 0
            self._deadline_for_body()
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._body_bytes += len(body)
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._in_headers = True
            self._wait(None)
            super().on_message_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._wait(_SLOW_READER)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._wait(None)

        def _wait(self, seconds: float | None) -> None:
            """Close the connection after these seconds, unless something else is waited for by then."""
            if self._deadline is not None:
                self._deadline.cancel()
            self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)

        def _deadline_for_body(self) -> None:
            self._wait(None)
            self._deadline = self.loop.call_later(_TICK, self._look, self._body_bytes)

        def _look(self, before: int) -> None:
            """Close the connection if too little of the body has come, though the server was reading."""
            if not self.flow.read_paused and self._body_bytes - before < limits.body_rate * _TICK:
                self.transport.abort()
            else:
                self._deadline_for_body()

    return BoundedProtocol
