"""A webhook: one signed POST, as https://www.standardwebhooks.com describes it.

The connection goes to the address that was checked, follows no redirect, and has a deadline as a whole: a receiver that
sends a byte now and then does not hold up the worker.
"""

import base64
import hmac
import json
import ssl
import time
from collections.abc import Iterable, Mapping
from typing import Any

import httpcore

from contract.api.notify.targets import secret_bytes
from scheduler.notify.addresses import AllowedHosts, RefusedAddressError
from scheduler.notify.outcome import FinalError, SendError

TIMEOUT_S = 10.0  # of an attempt as a whole
MAX_ANSWER_BYTES = 16_384  # that are read; the rest does not matter
GONE = 410  # by the standard: the receiver wants no messages any more
AGENT = "bigbatch"


def send_webhook(
    url: str, secret: str, key: str, body: Mapping[str, Any], allowed: AllowedHosts, timeout_s: float = TIMEOUT_S
) -> None:
    """Send one message; raise SendError if the receiver does not answer 2xx within the time."""
    content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    timestamp = int(time.time())
    headers = {
        "content-type": "application/json",
        "user-agent": AGENT,
        "webhook-id": key,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret, key, timestamp, content),
    }
    until = time.monotonic() + timeout_s
    try:
        status = _post(url, headers, content, CheckedBackend(allowed, until), timeout_s)
    except RefusedAddressError as error:
        raise FinalError(str(error)) from None
    except (httpcore.TimeoutException, TimeoutError):
        raise SendError(f"no answer within {timeout_s:g} s") from None
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        raise SendError(f"no answer: {_cause(error)}") from None
    if status == GONE:
        raise FinalError(f"the server answered {status}: it wants no more messages")
    if not 200 <= status < 300:
        raise SendError(f"the server answered {status}")


def signature(secret: str, key: str, timestamp: int, content: bytes) -> str:
    """Return the header `webhook-signature`: an HMAC-SHA256 over key, time and body."""
    signed = b".".join((key.encode(), str(timestamp).encode(), content))
    return f"v1,{base64.b64encode(hmac.digest(secret_bytes(secret), signed, 'sha256')).decode()}"


def _post(url: str, headers: Mapping[str, str], content: bytes, backend: "CheckedBackend", timeout_s: float) -> int:
    timeouts = dict.fromkeys(("connect", "read", "write", "pool"), timeout_s)
    target = httpcore.URL(url)
    if target.scheme == b"http" and not backend.is_own(target):
        raise RefusedAddressError("a message to a public address needs https://")
    with httpcore.ConnectionPool(network_backend=backend, ssl_context=ssl.create_default_context()) as pool:
        request: dict[str, Any] = {"headers": {"host": _host(target), **headers}, "content": content}
        with pool.stream("POST", target, extensions={"timeout": timeouts}, **request) as response:
            size = 0
            for part in response.iter_stream():
                size += len(part)
                if size > MAX_ANSWER_BYTES:
                    break
            return response.status


def _host(url: httpcore.URL) -> str:
    host = url.host.decode()
    bracketed = f"[{host}]" if ":" in host else host
    return f"{bracketed}:{url.port}" if url.port else bracketed


def _cause(error: BaseException) -> str:
    """Return what the network says; its errors have no address and no secret in them."""
    return str(error) or type(error).__name__


class CheckedBackend(httpcore.SyncBackend):
    """Connections to allowed addresses alone, which end at a deadline."""

    def __init__(self, allowed: AllowedHosts, until: float) -> None:
        self._allowed, self._until = allowed, until

    def is_own(self, url: httpcore.URL) -> bool:
        """Return whether the setting names the host, or the network of its address."""
        host = url.host.decode()
        return self._allowed.is_own(host, self._allowed.find_address(host, url.port or 80))

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the address that is checked here."""
        address = self._allowed.find_address(host, port)
        stream = super().connect_tcp(address, port, _left(self._until), local_address, socket_options)
        return BoundedStream(stream, self._until)


class BoundedStream(httpcore.NetworkStream):
    """A connection that ends at a deadline, however the receiver divides what it sends."""

    def __init__(self, stream: httpcore.NetworkStream, until: float) -> None:
        self._stream, self._until = stream, until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has arrived."""
        return self._stream.read(max_bytes, _left(self._until))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all bytes."""
        self._stream.write(buffer, _left(self._until))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Begin TLS with the name of the host, whose certificate is checked."""
        return BoundedStream(self._stream.start_tls(ssl_context, server_hostname, _left(self._until)), self._until)

    def get_extra_info(self, info: str) -> Any:
        """Return what the connection knows of itself."""
        return self._stream.get_extra_info(info)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the time is over")
    return left
