"""The HTTP connection to the service: requests, retries, and errors with messages."""

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from secrets import token_hex
from typing import IO, Any, TypeVar
from urllib.parse import urlencode

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from bigbatch.certificates import tls_hint, trusted_certificates
from bigbatch.errors import ApiError, BigbatchError, Unreachable
from bigbatch.running.measurement import number_text
from bigbatch.versions import has_unknown_part, is_unknown_call, unread_answer, with_versions
from contract.access.service_address import address_of_home
from contract.access.service_record import LOOPBACK, token_of_local_service
from contract.access.signed_value import Purpose, sign
from contract.api.problem import Problem
from contract.api.responses import Created
from contract.api.service import Health
from contract.shown_address import shown_address
from contract.user_home import user_name

T = TypeVar("T")
DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT = httpx.Timeout(60, connect=5)  # validation of thousands of points takes some seconds
RETRY_DELAYS_S = (0.2, 0.5)  # before the second and third request
TRANSIENT_STATUSES = {
    409,
    502,
    503,
    504,
}  # transient: an unavailable proxy or database, or the same request in progress
FIND_TOKEN = (
    "set BIGBATCH_TOKEN, or use the address at which `bigbatch up` runs for you on this machine; "
    "`bigbatch up` stores a token that it makes in the file 'token' of the service's home folder"
)
Parameters = dict[str, str | int | float | list[str]]
USER_HEADER = "Bigbatch-User"
FORM = "http://HOST:PORT or https://HOST/PATH"
PORTS = {"http": 80, "https": 443}  # of addresses without one


class Connection:
    """A connection to one service; only requests that may be sent twice are retried."""

    def __init__(
        self, url: str | None, token: str | None, *, transport: httpx.BaseTransport | None, pages_url: str | None = None
    ) -> None:
        known = url or os.environ.get("BIGBATCH_URL") or address_of_home(os.environ.get("BIGBATCH_HOME", ""))
        self.url = (known or DEFAULT_URL).rstrip("/")
        self.shown = shown_address(self.url)  # in messages
        parsed = _parse(self.url)
        # of the service of this environment, which is on this machine: another one has another dashboard
        is_own = not url and (parsed.host in LOOPBACK or not os.environ.get("BIGBATCH_URL"))
        self._public_url = pages_url or (os.environ.get("BIGBATCH_PUBLIC_URL") if is_own else None) or ""
        if token is None:
            token = os.environ.get("BIGBATCH_TOKEN") or token_of_local_service(
                parsed.host, parsed.port or PORTS[parsed.scheme]
            )
        if not (token.isascii() and token.isprintable()):
            raise BigbatchError(
                "the token has characters that are not allowed in an HTTP header; set BIGBATCH_TOKEN to printable ASCII"
            )
        self._token = token
        self._http = httpx.Client(
            headers=_user_header() | ({"Authorization": f"Bearer {token}"} if token else {}),
            timeout=TIMEOUT,
            transport=transport,
            trust_env=parsed.host not in LOOPBACK,  # a site's proxy cannot reach this machine
            verify=trusted_certificates() if parsed.scheme == "https" else False,
        )

    @property
    def pages_url(self) -> str:
        """Return the address that people open: behind a portal or in a container it differs from what is asked."""
        if not self._public_url:
            return self.url
        try:
            _parse(self._public_url)
        except BigbatchError as error:
            raise BigbatchError(f"BIGBATCH_PUBLIC_URL: {error}") from error
        return self._public_url.rstrip("/")

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def sign_in_url(self, path: str) -> str:
        """Return a link that signs a browser in and opens the page at `path`; raise BigbatchError without a token."""
        if not self._token:
            raise BigbatchError(f"the token of {self.shown} is not known: {FIND_TOKEN}")
        code = sign(self._token, Purpose.CODE, now=time.time())
        # a browser does not send the fragment, so no log contains the code
        fields = {"code": code, "user": _user_header().get(USER_HEADER, ""), "next": path}
        return f"{self.pages_url}/sign-in#{urlencode(fields, safe='/')}"

    def get(self, path: str, answer: type[T], *, ask: Parameters | None = None) -> T:
        """Send a GET request, with retries after transient errors; return the response as `answer`."""
        return self.read(self._retry(lambda: self.send("GET", path, ask=ask)), answer)

    def download(self, path: str, file: IO[bytes], *, ask: Parameters) -> int:
        """Write the answer to a GET request to a file as it arrives; return its bytes.

        Raise Unreachable if the connection ends before the answer does: what is in the file is a part then.
        """
        size = 0
        try:
            with self._http.stream("GET", f"{self.url}/api/v1{path}", params=ask) as response:
                if response.is_error:
                    response.read()
                    raise ApiError(response.status_code, self._problem(response))
                for part in response.iter_bytes():
                    size += file.write(part)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise self._no_answer(error) from error
        except httpx.TransportError as error:
            message = f"{self.shown} ended the connection after {size:,} bytes ({error or 'timed out'}): ask again"
            raise Unreachable(message) from error
        return size

    def post(self, path: str, answer: type[T], *, content: bytes = b"", kind: str = "application/json") -> T:
        """Send a POST request once; return the response as `answer`."""
        return self.read(self.send("POST", path, content=content, kind=kind), answer)

    def delete(self, path: str) -> None:
        """Send a DELETE request, whose answer has no content."""
        response = self.send("DELETE", path)
        if response.is_error:
            raise ApiError(response.status_code, self._problem(response))

    def post_safely(self, path: str, answer: type[T], *, content: bytes, kind: str) -> T:
        """Send a POST request that may be sent twice, with retries after transient errors."""
        return self.read(self._retry(lambda: self.send("POST", path, content=content, kind=kind)), answer)

    def post_once(
        self, path: str, answer: type[T], *, content: bytes, kind: str = "application/json", key: str | None = None
    ) -> T:
        """Send a POST request with an idempotency key, so that retries have no further effect."""
        more = {"Idempotency-Key": key or token_hex(16)}
        return self.read(self._retry(lambda: self.send("POST", path, content=content, kind=kind, more=more)), answer)

    def create(
        self,
        document: str | Mapping[str, Any],
        *,
        force: bool = False,
        origin: int | None = None,
        from_step: str | None = None,
    ) -> Created:
        """Create an experiment from YAML or JSON text, or from a document, once, however often it has to be sent."""
        flags = {"force": "true" if force else None, "origin": origin, "from_step": from_step}
        query = urlencode({name: value for name, value in flags.items() if value is not None})
        path = f"/experiments?{query}" if query else "/experiments"
        if isinstance(document, str):
            return self.post_once(path, Created, content=document.encode(), kind="application/yaml")
        return self.post_once(path, Created, content=json.dumps(document, default=plain_value).encode())

    def change(
        self, method: str, path: str, answer: type[T], change: BaseModel | None = None, *, ask: Parameters | None = None
    ) -> T:
        """Send a change that may be repeated without further effect, with retries; return the response as `answer`."""
        content = b"" if change is None else change.model_dump_json(exclude_unset=True).encode()
        kind = "application/json" if content else ""
        send = partial(self.send, method, path, ask=ask, content=content, kind=kind)
        response = self._retry(send)
        return self.read(response, answer)

    def _retry(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        """Send a request that may be sent more than once; retry after transient errors."""
        for wait_s in RETRY_DELAYS_S:
            with suppress(Unreachable):
                if (response := send()).status_code not in TRANSIENT_STATUSES:
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
        """Send one request; return the response with any status; raise Unreachable without a response."""
        headers = {**({"Content-Type": kind} if kind else {}), **(more or {})}
        address = f"{self.url}/api/v1{path}"
        try:
            return self._http.request(method, address, params=ask, content=content, headers=headers)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise self._no_answer(error) from error
        except httpx.TransportError as error:
            is_safe = more or method == "GET"
            hint = "" if is_safe else "; the request may have been carried out: check before you repeat it"
            raise Unreachable(f"{self.shown} closed the connection ({error or 'timed out'}){hint}") from error

    def _no_answer(self, error: httpx.TransportError) -> Unreachable:
        hint = (
            tls_hint(error)
            or "start the service with `bigbatch up`, or set BIGBATCH_URL to its address or BIGBATCH_HOME to its home"
        )
        return Unreachable(f"no service answers at {self.shown} ({error or 'timed out'}): {hint}")

    def read(self, response: httpx.Response, answer: type[T]) -> T:
        """Return the response as `answer`; raise ApiError for an error response."""
        if response.is_error:
            raise ApiError(response.status_code, self._problem(response))
        try:
            return TypeAdapter(answer).validate_json(response.content)
        except ValidationError as error:
            if service := self._other_version():
                raise BigbatchError(unread_answer(service, self.shown)) from error
            message = f"the response of {self.shown} is not a Bigbatch response: check the address"
            raise BigbatchError(message) from error

    def _problem(self, response: httpx.Response) -> Problem:
        try:
            problem = Problem.model_validate_json(response.content)
        except ValidationError:
            status = f"{response.status_code} {response.reason_phrase}"
            detail = f"{self.shown} answered {status}, which is not a Bigbatch response"
            title, code = response.reason_phrase, response.status_code
            return Problem(type="about:blank", title=title, status=code, detail=detail, code="foreign")
        if response.status_code == 401:
            problem = problem.model_copy(update={"detail": f"{problem.detail}; {FIND_TOKEN}"})
        is_unknown = is_unknown_call(problem) or has_unknown_part(problem.errors)
        if is_unknown and (service := self._other_version()):
            return with_versions(problem, service, self.shown)
        return problem

    def _other_version(self) -> str | None:
        """Return the version of a service that is not of this one; None if it does not say."""
        with suppress(Unreachable, ValidationError):
            service = Health.model_validate_json(self.send("GET", "/health").content).version
            return service if service != version("bigbatch") else None
        return None


def _user_header() -> dict[str, str]:
    """Return the header that names the user of this process, unless HTTP does not allow the name."""
    name = user_name() or ""
    return {USER_HEADER: name} if re.fullmatch(r"[ -~]{1,100}", name) else {}


def _parse(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise BigbatchError(f"'{shown_address(url)}' is not a valid address: use {FORM}") from error
    if parsed.scheme not in PORTS or not parsed.host or parsed.query or parsed.fragment or parsed.userinfo:
        raise BigbatchError(f"'{shown_address(url)}' is not a valid address: use {FORM}, and BIGBATCH_TOKEN")
    return parsed


class NoPlainValueError(BigbatchError):
    """A value of a document is neither a number, nor a text, a list or an object."""


def plain_value(value: Any) -> Any:
    """Return a scalar or an array as plain values, a float32 with its own digits; the service refuses NaN by field."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, float):
        return json.loads(number_text(value) or "null")
    if plain is value:
        message = f"a document has numbers, texts, lists and objects, and no {type(value).__name__}: {value!r:.200}"
        raise NoPlainValueError(message)
    return list(value) if isinstance(plain, list) else plain  # each of them has its own digits
