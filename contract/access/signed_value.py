"""Signed values with an expiry, `PURPOSE.EXPIRY.NONCE.MAC`: sessions and one-time sign-in codes.

The MAC is HMAC-SHA256 (RFC 2104) with the service's token as key. Only a holder of the token can make a value, and the
service can check a value without a stored list.
"""

import hmac
from dataclasses import dataclass
from enum import StrEnum
from secrets import token_hex


class Purpose(StrEnum):
    """The use of a signed value; a value of one purpose is never valid for another purpose."""

    SESSION = "session"
    CODE = "code"


LIFETIME_S = {Purpose.SESSION: 7 * 24 * 3600, Purpose.CODE: 15 * 60}


@dataclass(frozen=True)
class SignedValue:
    """A value that a holder of the token has made; it may have expired."""

    nonce: str
    expires_at: int  # seconds since 1970


def sign(token: str, purpose: Purpose, *, now: float) -> str:
    """Return a new value for the purpose that expires LIFETIME_S seconds after `now` (seconds since 1970)."""
    payload = f"{purpose}.{int(now) + LIFETIME_S[purpose]}.{token_hex(16)}"
    return f"{payload}.{_mac(token, payload)}"


def verify(token: str, purpose: Purpose, value: str) -> SignedValue | None:
    """Return the value's content; None if it was not made with this token for this purpose."""
    payload, _, mac = value.rpartition(".")
    if not hmac.compare_digest(mac.encode(), _mac(token, payload).encode()):
        return None
    made_for, expires_at, nonce = payload.split(".")
    return SignedValue(nonce, int(expires_at)) if made_for == purpose else None


def _mac(token: str, payload: str) -> str:
    return hmac.new(token.encode(), payload.encode(), "sha256").hexdigest()
