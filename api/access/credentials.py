"""The credentials that the service accepts: its token, sessions, and one-time sign-in codes."""

import hmac
import time
from enum import IntEnum, auto

from contract.access.signed_value import LIFETIME_S, Purpose, SignedValue, sign, verify


class Validity(IntEnum):
    """The result of a check of a credential; the best result is the least."""

    VALID = auto()
    ENDED = auto()  # the service or a holder of the token made it, and it has expired, was used, or was signed out
    WRONG = auto()


class Credentials:
    """Check credentials; remember which codes were used and which sessions were signed out, until they expire."""

    session_lifetime_s = LIFETIME_S[Purpose.SESSION]

    def __init__(self, token: str) -> None:
        if not token:
            raise ValueError("the API needs a token: without one every request would have access")
        self._token = token
        self._ended: dict[str, int] = {}  # nonce -> expiry
        # Browsers separate cookies by host and not by port, so the name is different for each service.
        self.cookie = f"bigbatch_session_{hmac.new(token.encode(), b'cookie', 'sha256').hexdigest()[:8]}"

    def is_token(self, given: str) -> bool:
        """Return whether `given` is the token, in constant time."""
        return hmac.compare_digest(given.encode(), self._token.encode())

    def new_session(self) -> str:
        """Return the cookie's value of a new session."""
        return sign(self._token, Purpose.SESSION, now=time.time())

    def check_session(self, value: str) -> Validity:
        """Check the cookie's value of a session."""
        return self._check(verify(self._token, Purpose.SESSION, value))

    def end_session(self, value: str) -> None:
        """Sign a session out."""
        self._end(verify(self._token, Purpose.SESSION, value))

    def redeem(self, code: str) -> Validity:
        """Check a one-time code and end it."""
        signed = verify(self._token, Purpose.CODE, code)
        validity = self._check(signed)
        self._end(signed)
        return validity

    def _check(self, signed: SignedValue | None) -> Validity:
        if signed is None:
            return Validity.WRONG
        has_ended = signed.expires_at <= time.time() or signed.nonce in self._ended
        return Validity.ENDED if has_ended else Validity.VALID

    def _end(self, signed: SignedValue | None) -> None:
        now = time.time()
        self._ended = {nonce: expires_at for nonce, expires_at in self._ended.items() if expires_at > now}
        if signed and signed.expires_at > now:
            self._ended[signed.nonce] = signed.expires_at
