"""Two ranks exchange data only after each has proved that it knows the secret."""

import secrets
import socket
import threading
from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.plans import ring
from trainers.collectives.runners.allreduce import make_allreduce
from trainers.collectives.wire import handshake
from trainers.collectives.wire.connections import Connections
from trainers.collectives.wire.group_secret import register_secret, secret_of
from trainers.collectives.wire.handshake import ANSWER, PROOF_BYTES, REQUEST, Handshake, HandshakeRefused, Identity
from trainers.collectives.wire.handshakes import UNKNOWN_PEERS, PeerSockets

SECRET, OTHER = secrets.token_bytes(32), secrets.token_bytes(32)
PATIENCE_S = 60.0
WORLD = 8


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.fixture
def server(listener: socket.socket) -> PeerSockets:
    return PeerSockets(listener, Identity(SECRET, "collective", 0), world=WORLD)


def next_peer(server: PeerSockets) -> int:
    peer, sock = server.next(timeout_s=PATIENCE_S)
    sock.close()
    return peer


def connect_in_thread(address: tuple[str, int], rank: int) -> threading.Thread:
    def connect() -> None:
        identity = Identity(SECRET, "collective", rank)
        handshake.connect(address, identity, peer=0, timeout_s=PATIENCE_S).close()

    thread = threading.Thread(target=connect)
    thread.start()
    return thread


def test_strangers_are_refused_and_a_rank_is_accepted(listener: socket.socket, server: PeerSockets) -> None:
    """Forces strangers that leave, send noise, repeat a recorded handshake, send nothing, or crowd the listener."""
    address = listener.getsockname()
    strangers = [socket.create_connection(address) for _ in range(5)]
    strangers[0].sendall(b"GET / HTTP/1.1\r\n")
    strangers[0].close()
    strangers[1].sendall(secrets.token_bytes(1 << 12))
    strangers[2].sendall(REQUEST.pack(bytes(32), 1) + bytes(PROOF_BYTES))
    rank = connect_in_thread(address, 7)  # strangers 3 and 4 stay silent
    assert next_peer(server) == 7
    rank.join()
    with pytest.raises(TimeoutError):
        server.next(timeout_s=0.2)
    for stranger in strangers[1:3]:  # the second may have got an answer to its noise, but no more
        stranger.settimeout(PATIENCE_S)
        assert received_until_closed(stranger) <= ANSWER.size
    for stranger in strangers:
        stranger.close()


def received_until_closed(sock: socket.socket) -> int:
    count = 0
    try:
        while part := sock.recv(1 << 12):
            count += len(part)
    except ConnectionResetError:  # the listening end closed with unread bytes
        pass
    return count


def test_a_crowd_of_silent_strangers_shuts_out_no_rank(listener: socket.socket, server: PeerSockets) -> None:
    """Forces more silent connections than the listening end retains."""
    address, crowd = listener.getsockname(), []
    for _ in range(WORLD + UNKNOWN_PEERS + 20):
        crowd.append(socket.create_connection(address))
        with pytest.raises(TimeoutError):
            server.next(timeout_s=0.001)
    rank = connect_in_thread(address, 3)
    assert next_peer(server) == 3
    rank.join()
    for stranger in crowd:
        stranger.close()


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    "other",
    [
        Identity(OTHER, "collective", 0),
        Identity(SECRET, "store", 0),
        Identity(SECRET, "collective", 1),
    ],
    ids=["another secret", "another purpose", "another rank"],
)
def test_a_listening_end_that_is_another_gets_no_data(listener: socket.socket, other: Identity) -> None:
    """Forces a forged listening end at the address of rank 0: the connecting rank detects it and sends no proof."""
    server, peers = PeerSockets(listener, other, world=WORLD), list[int]()

    def accept() -> None:
        with pytest.raises(TimeoutError):
            peers.append(server.next(timeout_s=1.0)[0])

    accepting = threading.Thread(target=accept)
    accepting.start()
    with pytest.raises(HandshakeRefused, match="does not know the attempt's secret"):
        handshake.connect(listener.getsockname(), Identity(SECRET, "collective", 5), peer=0, timeout_s=PATIENCE_S)
    accepting.join()
    assert peers == []


def test_a_recorded_handshake_is_not_valid_again() -> None:
    """Forces a replay: the recorded request and proof of a rank arrive on a second connection."""
    first, second = Identity(SECRET, "collective", 0), Identity(SECRET, "collective", 1).connecting(0)
    request, _ = next(second)
    listening = first.listening()
    next(listening)
    answer, _ = listening.send(request)
    proof, _ = second.send(answer)
    with pytest.raises(StopIteration) as accepted:
        listening.send(proof)
    assert accepted.value.value == 1
    replayed = first.listening()
    next(replayed)
    replayed.send(request)
    with pytest.raises(HandshakeRefused):
        replayed.send(proof)


def test_a_handshake_in_pieces_is_accepted_and_no_byte_after_it_is_read() -> None:
    ours, theirs = socket.socketpair()
    steps = Identity(SECRET, "center", 4).connecting(0)
    theirs.settimeout(PATIENCE_S)
    listening = Handshake(ours, Identity(SECRET, "center", 0).listening())
    request, _ = next(steps)
    for part in (request[:1], request[1:20], request[20:]):
        theirs.sendall(part)
        assert not listening.receive()
    proof, _ = steps.send(handshake.receive_exactly(theirs, ANSWER.size))
    theirs.sendall(proof + b"data")
    assert listening.receive()
    assert (listening.peer, ours.recv(10)) == (4, b"data")
    ours.close()
    theirs.close()


def sum_among_strangers() -> float:
    """Return an all-reduce's sum; a process without the secret has connected to rank 0 before."""
    connections = Connections()
    rank, world = connections.rank, connections.world
    address = connections.rendezvous.endpoints[0].address
    strangers = []
    if rank == 1:
        forged = Identity(OTHER, "collective", 2)
        strangers = [socket.create_connection(address) for _ in range(3)]
        strangers[0].sendall(next(forged.connecting(0))[0] + bytes(PROOF_BYTES))
        strangers[1].sendall(secrets.token_bytes(100))
    dist.barrier()
    x_N = torch.full((1000,), rank + 1.0)
    make_allreduce(ring.allreduce(range(world), range(world)), chunks=world, connections=connections)(x_N)
    for stranger in strangers:
        stranger.close()
    return x_N.sum().item()


@pytest.mark.ring("all")
def test_an_all_reduce_goes_on_among_strangers() -> None:
    """Forces a forged rank, noise and silence at rank 0's listener, before the ranks connect."""
    assert on_ranks(3, sum_among_strangers) == [6000.0] * 3


def secrets_of_groups() -> tuple[bytes, bytes]:
    drawn = secret_of(None)
    register_secret(bytes(range(32)))
    return drawn, secret_of(dist.new_group([0, 1]))


def test_a_registered_secret_applies_to_all_groups() -> None:
    (drawn, registered), other = on_ranks(2, secrets_of_groups)
    assert len(drawn) == len(SECRET)
    assert (drawn, registered) == other
    assert registered == bytes(range(32)) != drawn
