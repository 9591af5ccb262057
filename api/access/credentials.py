"""The credentials that the service accepts: its token, sessions, and one-time sign-in codes.

A signed value says itself who made it and when it expires. The database knows which ones ended earlier, so a restart
and a second process of the API know it too.
"""

import hmac
import time
from enum import IntEnum, auto

from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request

from api.database import in_turn
from contract.access.signed_value import LIFETIME_S, Purpose, SignedValue, sign, verify
from store.ended_values import end, has_ended
from store.session import snapshot, transaction


class Validity(IntEnum):
    """The result of a check of a credential; the best result is the least."""

    VALID = auto()
    ENDED = auto()  # the service or a holder of the token made it, and it has expired, was used, or was signed out
    WRONG = auto()


class Credentials:
    """Check credentials, and end sessions and codes; raise SQLAlchemyError or UnknownDatabase in an outage."""

    session_lifetime_s = LIFETIME_S[Purpose.SESSION]

    def __init__(self, token: str) -> None:
        if not token:
            raise ValueError("the API needs a token: without one every request would have access")
        self._token = token
        # Browsers separate cookies by host and not by port, so the name is different for each service.
        self.cookie = f"bigbatch_session_{hmac.new(token.encode(), b'cookie', 'sha256').hexdigest()[:8]}"

    def is_token(self, given: str) -> bool:
        """Return whether `given` is the token, in constant time."""
        return hmac.compare_digest(given.encode(), self._token.encode())

    def new_session(self) -> str:
        """Return the cookie's value of a new session."""
        return sign(self._token, Purpose.SESSION, now=time.time())

    async def check_session(self, request: Request) -> Validity | None:
        """Check the session of a request; None for a request without one."""
        value = request.cookies.get(self.cookie, "")
        signed = verify(self._token, Purpose.SESSION, value)
        if signed is None or _has_expired(signed):
            return (Validity.WRONG if signed is None else Validity.ENDED) if value else None
        async with in_turn(request, snapshot) as db:
            return Validity.ENDED if await run_in_threadpool(has_ended, db, signed.nonce) else Validity.VALID

    async def end_session(self, request: Request) -> None:
        """Sign the session of a request out."""
        signed = verify(self._token, Purpose.SESSION, request.cookies.get(self.cookie, ""))
        if signed and not _has_expired(signed):
            await _end(request, signed)

    async def redeem(self, request: Request, code: str) -> Validity:
        """Check a one-time code and end it; of two requests with one code, only one gets VALID."""
        signed = verify(self._token, Purpose.CODE, code)
        if signed is None:
            return Validity.WRONG
        return Validity.VALID if not _has_expired(signed) and await _end(request, signed) else Validity.ENDED


def _has_expired(signed: SignedValue) -> bool:
    return signed.expires_at <= time.time()


async def _end(request: Request, signed: SignedValue) -> bool:
    async with in_turn(request, transaction) as db:
        return await run_in_threadpool(end, db, signed.nonce, signed.expires_at)
