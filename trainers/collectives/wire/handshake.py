"""The handshake: both ends of a connection prove that they know the secret of the attempt, before any data.

The connecting rank sends a random number and its rank. The listening rank answers with a random number of its own and
with its proof. The connecting rank then sends its proof. A proof is an HMAC-SHA256, with the secret as key, over both
random numbers, both ranks, the purpose of the connection and the side. So a recorded proof is valid for no other
connection, and the secret itself is never sent.
"""

import hmac
import secrets
import socket
import struct
from collections.abc import Generator
from dataclasses import dataclass, field

SECRET_BYTES = 32
REQUEST = struct.Struct("<32sI")  # random number, connecting rank
ANSWER = struct.Struct("<32s32s")  # random number, proof
PROOF_BYTES = 32
_SUBJECT = struct.Struct("<10s10sII32s32s")

Steps = Generator[tuple[bytes, int], bytes, int]  # yields what to send and how many bytes to receive; returns the peer


class HandshakeRefused(ConnectionError):
    """The peer does not know the secret, or sent something else than a handshake."""


@dataclass(frozen=True)
class Identity:
    """One end of the connections of one purpose: the rank, and the secret that all ranks of the purpose share."""

    secret: bytes = field(repr=False)
    purpose: str  # at most 10 letters; a proof for one purpose is not valid for another
    rank: int

    def connecting(self, listening_rank: int) -> Steps:
        """Return the steps of the end that connects to `listening_rank`."""
        number = secrets.token_bytes(32)
        other, proof = ANSWER.unpack((yield REQUEST.pack(number, self.rank), ANSWER.size))
        self._check(proof, "listening", self.rank, listening_rank, number + other)
        yield self._prove("connecting", self.rank, listening_rank, number + other), 0
        return listening_rank

    def listening(self) -> Steps:
        """Return the steps of the end that accepted the connection."""
        other, connecting_rank = REQUEST.unpack((yield b"", REQUEST.size))
        number = secrets.token_bytes(32)
        answer = ANSWER.pack(number, self._prove("listening", connecting_rank, self.rank, other + number))
        proof = yield answer, PROOF_BYTES
        self._check(proof, "connecting", connecting_rank, self.rank, other + number)
        return int(connecting_rank)

    def _prove(self, side: str, connecting_rank: int, listening_rank: int, numbers: bytes) -> bytes:
        ranks = connecting_rank, listening_rank
        subject = _SUBJECT.pack(self.purpose.encode(), side.encode(), *ranks, numbers[:32], numbers[32:])
        return hmac.digest(self.secret, subject, "sha256")

    def _check(self, proof: bytes, side: str, connecting_rank: int, listening_rank: int, numbers: bytes) -> None:
        if not hmac.compare_digest(proof, self._prove(side, connecting_rank, listening_rank, numbers)):
            raise HandshakeRefused(f"the {side} end of a {self.purpose} connection does not know the attempt's secret")


class Handshake:
    """A handshake in progress on a socket. No byte after the handshake is read."""

    def __init__(self, sock: socket.socket, steps: Steps) -> None:
        self.sock, self.peer = sock, -1  # the peer's rank, once the handshake is complete
        self._steps, self._received, self._needed = steps, b"", 0
        self._advance(next(steps))

    def receive(self) -> bool:
        """Read what has arrived, and return whether the handshake is complete; wait if the socket is blocking.

        Raise HandshakeRefused, or another OSError if the connection fails.
        """
        try:
            part = self.sock.recv(self._needed - len(self._received))
        except BlockingIOError:
            return False
        if not part:
            raise HandshakeRefused("the peer closed the connection during the handshake")
        self._received += part
        if len(self._received) == self._needed:
            received, self._received = self._received, b""
            try:
                self._advance(self._steps.send(received))
            except StopIteration as end:
                self.peer = end.value
        return self.peer >= 0

    def _advance(self, step: tuple[bytes, int]) -> None:
        message, self._needed = step
        if message:
            self.sock.sendall(message)  # at most 64 bytes: the buffer of a new connection has room
        if not self._needed:
            next(self._steps)


def connect(address: tuple[str, int], identity: Identity, *, peer: int, timeout_s: float) -> socket.socket:
    """Connect to a listening rank and complete the handshake; the socket has the timeout. Raise OSError."""
    sock = socket.create_connection(address, timeout=timeout_s)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        handshake = Handshake(sock, identity.connecting(peer))
        while not handshake.receive():
            pass
    except BaseException:
        sock.close()
        raise
    return sock


def receive_exactly(sock: socket.socket, length: int) -> bytes:
    """Receive exactly `length` bytes; raise EOFError if the peer closes the connection before."""
    received = b""
    while len(received) < length:  # MSG_WAITALL does not work on a socket with a timeout
        if not (part := sock.recv(length - len(received))):
            raise EOFError
        received += part
    return received
