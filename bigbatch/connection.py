"""The wire: one request, and an answer that is either what was asked for or an error in words."""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from secrets import token_hex
from typing import TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from bigbatch.errors import ApiError, BigbatchError, Unreachable
from contract.api.responses import ErrorView, Problem

T = TypeVar("T")
DEFAULT_URL = "http://127.0.0.1:8000"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
TIMEOUT = httpx.Timeout(60, connect=5)  # a sweep of thousands of points takes a while to be checked
WAITS_S = (0.2, 0.5)  # before the second and third try
PASSING = {409, 502, 503, 504}  # a proxy or a database that may be back in a moment, a twin of the request
Parameters = dict[str, str | int | float | list[str]]


class Connection:
    """Asks one service; what may be sent twice is tried again a little, what may not never."""

    def __init__(self, url: str | None, token: str | None, *, transport: httpx.BaseTransport | None) -> None:
        self.url = (url or os.environ.get("BIGBATCH_URL") or DEFAULT_URL).rstrip("/")
        host = _host_of(self.url)
        token = os.environ.get("BIGBATCH_TOKEN", "") if token is None else token
        if not (token.isascii() and token.isprintable()):
            raise BigbatchError("the token has characters that no HTTP header can carry")
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=TIMEOUT,
            transport=transport,
            trust_env=host not in LOOPBACK,  # a site's proxy does not lead to this machine
        )

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, answer: type[T], *, ask: Parameters | None = None) -> T:
        """Ask for `path`; a passing failure is tried again."""
        return self.read(self._again(lambda: self.send("GET", path, ask=ask)), answer)

    def post(self, path: str, answer: type[T], *, content: bytes = b"", kind: str = "application/json") -> T:
        """Send `content` once."""
        return self.read(self.send("POST", path, content=content, kind=kind), answer)

    def post_once(self, path: str, answer: type[T], *, content: bytes, kind: str = "application/json") -> T:
        """Send `content` under a key of its own, so that it is carried out once however often it has to be sent."""
        key = {"Idempotency-Key": token_hex(16)}
        return self.read(self._again(lambda: self.send("POST", path, content=content, kind=kind, more=key)), answer)

    def _again(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        """Send what may be sent more than once; a passing failure is tried again."""
        for wait_s in WAITS_S:
            with suppress(Unreachable):
                if (response := send()).status_code not in PASSING:
                    return response
            time.sleep(wait_s)
        return send()

    def send(
        self,
        method: str,
        path: str,
        *,
        ask: Parameters | None = None,
        content: bytes = b"",
        kind: str = "",
        more: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Send one request, whatever the answer's status; raise Unreachable when none comes."""
        headers = {**({"Content-Type": kind} if kind else {}), **(more or {})}
        address = f"{self.url}/api/v1{path}"
        try:
            return self._http.request(method, address, params=ask, content=content, headers=headers)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            hint = "start the service with `bigbatch up`, or name another in BIGBATCH_URL"
            raise Unreachable(f"nothing answers at {self.url} ({error or 'timed out'}): {hint}") from error
        except httpx.TransportError as error:
            lost = (
                "" if more or method == "GET" else "; whether it arrived is not known, so look before you send it again"
            )
            raise Unreachable(f"{self.url} broke off ({error or 'timed out'}){lost}") from error

    def read(self, response: httpx.Response, answer: type[T]) -> T:
        """The answer as a model; raise ApiError for one that is an error."""
        if response.is_error:
            raise ApiError(response.status_code, self._problem(response))
        try:
            return TypeAdapter(answer).validate_json(response.content)
        except ValidationError as error:
            message = f"{self.url} answers, but not as Bigbatch does: is another service, or another version, there?"
            raise BigbatchError(message) from error

    def _problem(self, response: httpx.Response) -> Problem:
        try:
            problem = ErrorView.model_validate_json(response.content).error
        except ValidationError:
            status = f"{response.status_code} {response.reason_phrase}"
            return Problem(code="foreign", message=f"{self.url} answered {status}, not in Bigbatch's words")
        if response.status_code == 401:
            problem = problem.model_copy(update={"message": f"{problem.message}; here, set BIGBATCH_TOKEN"})
        return problem


def _host_of(url: str) -> str:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise BigbatchError(f"'{url}' is no address of a service: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise BigbatchError(f"'{url}' is no address of a service: http://HOST:PORT or https://HOST:PORT is one")
    return parsed.host
