"""When a served center's talks begin and end: turns with receipts, and the pace of those that take no turns."""

import socket
import threading
import time

import pytest
import torch

from tests.testing.trainers.jobs import until
from trainers.collectives.wire.handshake import read
from trainers.rules.centers.center_protocol import GO, HEADER, RECEIPT, call, receive, send
from trainers.rules.centers.center_server import Keeper
from trainers.rules.centers.center_update import Towards
from trainers.rules.centers.replica_pace import Pace
from trainers.rules.centers.request_order import FirstCome, LockFree, Order, RankOrder

SECRET, PATIENCE_S, AWHILE_S = b"0123456789abcdef", 60.0, 0.2
FOREVER_S = 120.0
SPEAKS, LEAVES = HEADER.pack(True, 0.5, 0.0), HEADER.pack(False, 0.0, 0.0)


def served(order: Order, *, timeout_s: float = PATIENCE_S) -> tuple[Keeper, socket.socket, socket.socket]:
    """A center of eight zeros that rank 0 serves to ranks 1 and 2, whose every byte the test reads itself."""
    keeper = Keeper(Towards(torch.zeros(8)), order, [slice(None)], world=3)
    door = socket.create_server(("127.0.0.1", 0))
    opening = threading.Thread(target=keeper.open, args=(door, SECRET), kwargs={"timeout_s": timeout_s})
    opening.start()
    first, second = (call(door.getsockname(), SECRET, rank=rank, timeout_s=PATIENCE_S) for rank in (1, 2))
    opening.join()
    return keeper, first, second


def take_turn(keeper: Keeper) -> None:
    keeper.exchange(torch.ones(8), 0.5, [0.0], answer_N=torch.empty(8))


def speak(sock: socket.socket) -> None:
    """All of an exchange but its answer, which then comes into this replica's buffer."""
    sock.sendall(SPEAKS)
    read(sock, GO.size)
    send(sock, torch.ones(8))


def heard(sock: socket.socket) -> torch.Tensor:
    answer_8 = torch.empty(8)
    receive(sock, answer_8)
    return answer_8


def hears_nothing(sock: socket.socket) -> bool:
    sock.settimeout(AWHILE_S)
    try:
        return not sock.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return True
    finally:
        sock.settimeout(PATIENCE_S)


def test_in_rank_order_the_next_talk_begins_when_the_last_answer_was_read() -> None:
    """Forces a replica that reads slowly: its answer has long left the center when it says that it has it."""
    keeper, slow, following = served(RankOrder(3, timeout_s=PATIENCE_S))
    take_turn(keeper)
    speak(slow)
    following.sendall(SPEAKS)
    assert hears_nothing(following)
    assert heard(slow).tolist() == [0.5] * 8
    assert hears_nothing(following)
    slow.sendall(RECEIPT)
    assert len(read(following, GO.size)) == GO.size


@pytest.mark.parametrize("order", [FirstCome, LockFree])
def test_without_turns_nobody_waits_for_another_to_read(order: type[FirstCome | LockFree]) -> None:
    """Forces the same slow reader; no receipt is asked for, and none sent."""
    keeper, slow, following = served(order(3, timeout_s=PATIENCE_S))
    speak(slow)
    speak(following)
    assert sorted([*heard(following)[:1].tolist(), *heard(slow)[:1].tolist()])[0] == 0.0
    for sock in (slow, following):
        sock.sendall(LEAVES)
    keeper.settle()
    assert keeper.left() == {1: None, 2: None}


def test_a_replica_that_falls_before_its_receipt_holds_nobody() -> None:
    """Forces the end of rank 1 after its answer; what it brought has moved the center, and counts."""
    keeper, falls, following = served(RankOrder(3, timeout_s=PATIENCE_S))
    take_turn(keeper)
    speak(falls)
    heard(falls)
    falls.close()
    speak(following)
    assert heard(following).tolist() == [0.75] * 8
    following.sendall(RECEIPT)
    assert keeper.where().tolist() == [0.875] * 8
    until(lambda: keeper.left() == {1: "its connection ended"})  # its turn is over a moment before it counts as lost
    assert keeper.state_dict()["updates"] == [1, 1, 1]


class Ahead:
    """Rank 0 of four, which has had a talk, comes for its second."""

    def __init__(self, *, timeout_s: float = PATIENCE_S) -> None:
        self.pace = Pace(4, timeout_s=timeout_s)
        self.talk(0)
        self._second = threading.Thread(target=self.talk, args=(0,), daemon=True)
        self._second.start()

    def talk(self, rank: int) -> None:
        with self.pace.talk(rank):
            pass

    def waits(self) -> bool:
        self._second.join(AWHILE_S)
        return self._second.is_alive()

    def goes_on(self) -> bool:
        self._second.join(PATIENCE_S)
        return not self._second.is_alive()


def test_nobody_takes_a_second_talk_before_half_of_the_others_had_their_first() -> None:
    ahead = Ahead()
    ahead.talk(2)
    assert ahead.waits()
    ahead.talk(3)
    assert ahead.goes_on()
    for _ in range(2):  # the slower half waits for nobody
        ahead.talk(1)


def test_a_rank_that_has_left_holds_nobody() -> None:
    ahead = Ahead()
    ahead.pace.leave(1)
    assert ahead.waits()
    ahead.pace.leave(2)
    assert ahead.goes_on()


def test_ranks_that_never_come_hold_the_others_once() -> None:
    """Forces a time-out; who was late then may still come."""
    ahead = Ahead(timeout_s=1.0)
    assert ahead.goes_on()
    ahead.pace._timeout_s = FOREVER_S
    began_s = time.monotonic()
    for rank in (0, 0, 1):
        ahead.talk(rank)
    assert time.monotonic() - began_s < FOREVER_S


@pytest.mark.parametrize("order", [FirstCome, LockFree, RankOrder])
def test_a_replica_that_hangs_does_not_hold_the_run_at_its_end(order: type[FirstCome | LockFree | RankOrder]) -> None:
    """Forces a replica that neither speaks nor closes its connection; the other one says goodbye."""
    keeper, hanging, well = served(order(3, timeout_s=PATIENCE_S))
    well.sendall(LEAVES)
    until(lambda: keeper.done == {2})
    keeper._timeout_s = 0.5  # from now on, so that a busy machine does not make the other one late as well
    keeper.settle()
    assert keeper.left() == {1: "it did not come to the center for 0.5 s", 2: None}
    hanging.close()
