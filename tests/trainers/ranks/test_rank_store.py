"""The store of the ranks serves the ranks of its attempt, and no other process."""

import secrets
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

import pytest
from torch.distributed import (  # type: ignore[attr-defined]  # not all are in torch's __all__
    DistNetworkError,
    DistStoreError,
    PrefixStore,
    TCPStore,
)

from contract.diagnosis.consequences import ECHO_TEXTS
from trainers.collectives.wire import handshakes
from trainers.collectives.wire.handshake import Identity
from trainers.ranks.rank_store import protocol
from trainers.ranks.rank_store.client import RankStore
from trainers.ranks.rank_store.protocol import LIMIT_BYTES, MessageBuffer, encode
from trainers.ranks.rank_store.server import StoreServer

SECRET, PATIENCE_S = secrets.token_bytes(32), 60.0


class Served(NamedTuple):
    """A server and its address."""

    server: StoreServer
    address: tuple[str, int]

    def join(self, rank: int, *, secret: bytes = SECRET, timeout_s: float = PATIENCE_S) -> RankStore:
        return RankStore(self.address, Identity(secret, protocol.PURPOSE, rank), timeout_s=timeout_s)


@pytest.fixture
def served() -> Iterator[Served]:
    server = StoreServer("127.0.0.1", SECRET, world=4)
    yield Served(server, ("127.0.0.1", server.port))
    server.close()


def test_ranks_share_values(served: Served) -> None:
    own, second = served.join(0), served.join(1)
    first = PrefixStore("p", own)
    first.set("text", "ä")
    own.set("p/bytes", b"\0\xff")
    assert (second.get("p/text").decode(), second.get("p/bytes")) == ("ä", b"\0\xff")
    assert [first.add("sum", 2), second.add("p/sum", 3)] == [2, 5]
    assert first.get("sum") == b"5"
    assert second.check(["p/text", "p/sum"])
    assert not second.check(["p/text", "absent"])
    assert [first.delete_key("text"), first.delete_key("text")] == [True, False]
    large = secrets.token_bytes(LIMIT_BYTES - 100)
    second.set("large", large)
    assert second.get("large") == large


def test_get_and_wait_return_when_the_last_key_is_set(served: Served) -> None:
    first, second = served.join(0), served.join(1)
    received: list[bytes] = []

    def receive() -> None:
        second.wait(["a", "b"], timedelta(seconds=PATIENCE_S))
        received.append(second.get("c"))

    waiting = threading.Thread(target=receive)
    waiting.start()
    for key in "abc":
        assert not received
        assert second.add("calls of another thread", 1)  # while the first thread waits
        first.set(key, key)
    waiting.join(PATIENCE_S)
    assert received == [b"c"]


def test_a_key_that_no_rank_sets_times_out(served: Served) -> None:
    store = served.join(1)
    with pytest.raises(DistStoreError, match=r"wait of 'absent' in the ranks' store timed out after 0\.2 s"):
        store.wait(["absent"], timedelta(seconds=0.2))
    store.set("later", b"1")  # the store stays usable
    assert store.get("later") == b"1"


def test_the_end_of_rank_0_ends_a_wait(served: Served) -> None:
    store = served.join(1)
    ended: list[str] = []

    def wait() -> None:
        with pytest.raises(DistNetworkError) as error:
            store.get("absent")
        ended.append(str(error.value))

    waiting = threading.Thread(target=wait)
    waiting.start()
    served.server.close()
    waiting.join(PATIENCE_S)
    assert any(text in ended[0] for text in ECHO_TEXTS)  # other ranks then look for the cause
    with pytest.raises(DistNetworkError):
        store.set("a", "b")


def test_a_process_without_the_secret_is_refused_and_the_ranks_go_on(served: Served) -> None:
    """Forces a forged rank with another secret, requests without a handshake, silence, and noise."""
    first = served.join(0)
    first.set("key", "value")
    with pytest.raises(DistNetworkError, match="does not know the attempt's secret"):
        served.join(1, secret=secrets.token_bytes(32))
    silent = socket.create_connection(served.address)
    for sent in (encode([protocol.GET, b"key"]), encode([protocol.SET, b"key", b"forged"]), secrets.token_bytes(4096)):
        with socket.create_connection(served.address, timeout=PATIENCE_S) as stranger:
            stranger.sendall(sent + bytes(100))
            received = b""
            try:
                while part := stranger.recv(4096):
                    received += part
            except ConnectionResetError:  # the server closed with unread bytes
                pass
            assert b"value" not in received
    silent.close()
    assert served.join(2).get("key") == b"value"


@pytest.mark.ring("all")
def test_the_client_of_torchs_tcp_store_is_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces torch's own client: it sends no secret, and waits for an answer to fewer bytes than a request has."""
    monkeypatch.setattr(handshakes, "HANDSHAKE_TIMEOUT_S", 0.2)
    with pytest.raises(RuntimeError):
        TCPStore(*served.address, is_master=False, timeout=timedelta(seconds=1))
    assert served.join(0).add("sum", 1) == 1


@pytest.mark.parametrize(
    "message",
    [
        (LIMIT_BYTES + 1).to_bytes(4, "little"),
        encode([b"unknown"]),
        encode([b"add", b"sum", b"x"]),
        b"\4\0\0\0\xff\0\0\0",
    ],
    ids=["too large", "unknown operation", "no number", "field beyond the message"],
)
def test_a_malformed_request_ends_its_connection_only(served: Served, message: bytes) -> None:
    """Forces a rank with a fault: its requests are malformed."""
    broken, other = served.join(1), served.join(2)
    sock = broken._idle[0]
    sock.sendall(message)
    assert sock.recv(1) == b""
    assert other.add("sum", 1) == 1


def test_a_message_beyond_the_limit_is_not_sent(served: Served) -> None:
    store = served.join(0)
    with pytest.raises(ValueError, match=f"exceeds the store's limit of {LIMIT_BYTES} bytes"):
        store.set("key", bytes(LIMIT_BYTES))


def test_a_message_may_arrive_in_pieces() -> None:
    buffer, message = MessageBuffer(), encode([b"a", b"", b"bc"])
    assert [buffer.add(message[at : at + 1]) for at in range(len(message) - 1)] == [None] * (len(message) - 1)
    assert buffer.add(message[-1:]) == [b"a", b"", b"bc"]
