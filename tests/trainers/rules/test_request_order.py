"""When exchanges with a served center begin and end: in rank order with receipts, or limited by the pace."""

import socket
import threading
import time

import pytest
import torch

from tests.testing.trainers.jobs import until
from trainers.collectives.wire.handshake import receive_exactly
from trainers.rules.centers.center_protocol import HEADER, PERMISSION, RECEIPT, connect_to_center, receive, send
from trainers.rules.centers.center_server import CenterServer
from trainers.rules.centers.center_update import ElasticUpdate
from trainers.rules.centers.request_order import FirstComeOrder, LockFreeOrder, RankOrder, ReplicaPace, RequestOrder

SECRET, PATIENCE_S, AWHILE_S = b"0123456789abcdef", 60.0, 0.2
FOREVER_S = 120.0
EXCHANGES, FINISHES = HEADER.pack(True, 0.5, 0.0), HEADER.pack(False, 0.0, 0.0)


def serve(order: RequestOrder, *, timeout_s: float = PATIENCE_S) -> tuple[CenterServer, socket.socket, socket.socket]:
    """Serve a center of eight zeros to ranks 1 and 2; the test itself reads and writes their connections."""
    server = CenterServer(ElasticUpdate(torch.zeros(8)), order, [slice(None)], world=3)
    listener = socket.create_server(("127.0.0.1", 0))
    opening = threading.Thread(target=server.open, args=(listener, SECRET), kwargs={"timeout_s": timeout_s})
    opening.start()
    first, second = (
        connect_to_center(listener.getsockname(), SECRET, rank=rank, timeout_s=PATIENCE_S) for rank in (1, 2)
    )
    opening.join()
    return server, first, second


def exchange_rank_0(server: CenterServer) -> None:
    server.exchange(torch.ones(8), 0.5, [0.0], answer_N=torch.empty(8))


def send_message(sock: socket.socket) -> None:
    """Make an exchange without reading its answer, which stays in this replica's buffer."""
    sock.sendall(EXCHANGES)
    receive_exactly(sock, PERMISSION.size)
    send(sock, torch.ones(8))


def receive_answer(sock: socket.socket) -> torch.Tensor:
    answer_8 = torch.empty(8)
    receive(sock, answer_8)
    return answer_8


def receives_nothing(sock: socket.socket) -> bool:
    sock.settimeout(AWHILE_S)
    try:
        return not sock.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return True
    finally:
        sock.settimeout(PATIENCE_S)


def test_in_rank_order_the_next_exchange_begins_after_the_receipt() -> None:
    """Forces a replica that reads slowly: the center has sent the answer long before the receipt."""
    server, slow, following = serve(RankOrder(3, timeout_s=PATIENCE_S))
    exchange_rank_0(server)
    send_message(slow)
    following.sendall(EXCHANGES)
    assert receives_nothing(following)
    assert receive_answer(slow).tolist() == [0.5] * 8
    assert receives_nothing(following)
    slow.sendall(RECEIPT)
    assert len(receive_exactly(following, PERMISSION.size)) == PERMISSION.size


@pytest.mark.parametrize("order", [FirstComeOrder, LockFreeOrder])
def test_without_rank_order_no_rank_waits_for_another_to_read(order: type[FirstComeOrder | LockFreeOrder]) -> None:
    """Forces the same slow replica; these orders need no receipt."""
    server, slow, following = serve(order(3, timeout_s=PATIENCE_S))
    send_message(slow)
    send_message(following)
    assert sorted([*receive_answer(following)[:1].tolist(), *receive_answer(slow)[:1].tolist()])[0] == 0.0
    for sock in (slow, following):
        sock.sendall(FINISHES)
    server.wait_for_all()
    assert server.departed_ranks() == {1: None, 2: None}


def test_a_replica_that_fails_before_its_receipt_blocks_no_rank() -> None:
    """Forces the end of rank 1 after its answer; its message has moved the center and counts."""
    server, failures, following = serve(RankOrder(3, timeout_s=PATIENCE_S))
    exchange_rank_0(server)
    send_message(failures)
    receive_answer(failures)
    failures.close()
    send_message(following)
    assert receive_answer(following).tolist() == [0.75] * 8
    following.sendall(RECEIPT)
    assert server.read_center().tolist() == [0.875] * 8
    until(
        lambda: server.departed_ranks() == {1: "its connection ended"}
    )  # the exchange ends shortly before the rank counts as lost
    assert server.state_dict()["updates"] == [1, 1, 1]


class Ahead:
    """Rank 0 of four has made one exchange and waits for its second."""

    def __init__(self, *, timeout_s: float = PATIENCE_S) -> None:
        self.pace = ReplicaPace(4, timeout_s=timeout_s)
        self.exchange(0)
        self._second = threading.Thread(target=self.exchange, args=(0,), daemon=True)
        self._second.start()

    def exchange(self, rank: int) -> None:
        with self.pace.exchange(rank):
            pass

    def waits(self) -> bool:
        self._second.join(AWHILE_S)
        return self._second.is_alive()

    def continues(self) -> bool:
        self._second.join(PATIENCE_S)
        return not self._second.is_alive()


def test_a_second_exchange_waits_for_half_of_the_other_ranks() -> None:
    ahead = Ahead()
    ahead.exchange(2)
    assert ahead.waits()
    ahead.exchange(3)
    assert ahead.continues()
    for _ in range(2):  # the slower half never waits
        ahead.exchange(1)


@pytest.mark.parametrize("order", [FirstComeOrder, LockFreeOrder])
def test_a_free_rank_waits_for_no_other_rank(order: type[FirstComeOrder | LockFreeOrder]) -> None:
    """Forces a world in which only rank 0 exchanges; with a pace its second exchange would wait for two minutes."""
    free, began_s = order(4, timeout_s=FOREVER_S, is_free=True), time.monotonic()
    for _ in range(100):
        with free.exchange(0):
            pass
    assert time.monotonic() - began_s < FOREVER_S


def test_no_rank_waits_for_a_departed_rank() -> None:
    ahead = Ahead()
    ahead.pace.remove_rank(1)
    assert ahead.waits()
    ahead.pace.remove_rank(2)
    assert ahead.continues()


@pytest.mark.ring("all")
def test_late_ranks_delay_other_ranks_once() -> None:
    """Forces a time-out; a late rank may still exchange."""
    ahead = Ahead(timeout_s=1.0)
    assert ahead.continues()
    ahead.pace._timeout_s = FOREVER_S
    began_s = time.monotonic()
    for rank in (0, 0, 1):
        ahead.exchange(rank)
    assert time.monotonic() - began_s < FOREVER_S


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("order", [FirstComeOrder, LockFreeOrder, RankOrder])
def test_an_unresponsive_replica_does_not_block_the_end_of_the_run(
    order: type[FirstComeOrder | LockFreeOrder | RankOrder],
) -> None:
    """Forces a replica that neither sends nor closes its connection; the other replica has finished."""
    server, hanging, well = serve(order(3, timeout_s=PATIENCE_S))
    well.sendall(FINISHES)
    until(lambda: server.finished == {2})
    server._timeout_s = 0.5  # only now, so that a busy machine does not delay the other replica too
    server.wait_for_all()
    assert server.departed_ranks() == {1: "it did not come to the center for 0.5 s", 2: None}
    hanging.close()
