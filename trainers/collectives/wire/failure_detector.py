"""Who is to blame when a collective does not go on: the first to know tells all others.

A rank that dies closes its connections, which its peers see at once. A rank that stalls says nothing: whoever has moved
no byte for most of the time-out asks the peers it waits for, again and again; one that is itself in the collective
answers at once, so the silent ones are the culprits. Whoever finds one tells its peers, who tell theirs: all end with
the same words. Who waits for nobody that is silent leaves the verdict to those who do, twice the time-out at most.
"""

import json
import time
from collections.abc import Callable
from typing import NamedTuple

from trainers.collectives.wire.connections import Mesh
from trainers.collectives.wire.frame import ASK, FAULT, Frame
from trainers.collectives.wire.rank_lost import RankLost

ASK_AFTER = 0.6  # of the time-out
ANSWER_WITHIN = 0.2
GIVE_UP_AFTER = 2.0
LINGER_S = 1.0  # for the others to hear of it


class Wait(NamedTuple):
    """A rank that is waited for, and in which round of the plan."""

    peer: int
    round: int


class Inquest:
    """Watches one collective."""

    def __init__(self, mesh: Mesh, *, timeout_s: float, waits: Callable[[], list[Wait]]) -> None:
        self._mesh, self._timeout_s, self._waits = mesh, timeout_s, waits
        self.patience_s = min(timeout_s / 20, 1.0)
        self._moved_at = time.monotonic()
        self._arrivals, self._questions = mesh.arrivals, mesh.questions
        self._asked_at: float | None = None
        self._asked: set[int] = set()
        if mesh.fault is not None:
            raise mesh.fault

    def look(self, moved: int) -> None:
        """Hear how many bytes moved; raise RankLost if that can't go on."""
        if any(line.is_closed for line in self._mesh.lines.values()):
            self._refuse_the_dead()
        now, mesh = time.monotonic(), self._mesh
        if mesh.arrivals != self._arrivals or (moved and mesh.questions == self._questions):
            self._moved_at, self._asked_at = now, None
        elif self._asked_at is None:
            if now - self._moved_at > ASK_AFTER * self._timeout_s:
                self._ask()
        elif now - self._asked_at > ANSWER_WITHIN * self._timeout_s:
            self._judge(now - self._moved_at)
            self._ask()
        self._arrivals, self._questions = mesh.arrivals, mesh.questions

    def tell_all(self, error: BaseException) -> None:
        """Tell every peer why this rank leaves, and let nothing more be summed."""
        fault = error if isinstance(error, RankLost) else self._own_fault(error)
        self._mesh.fault = fault
        word = {"message": str(fault), "ranks": fault.ranks, "is_silent": fault.is_silent, "in_round": fault.in_round}
        told = json.dumps(word).encode()
        for line in self._mesh.lines.values():
            line.abandon()
            line.post(Frame(FAULT, nbytes=len(told)), memoryview(told))
        self._mesh.part(min(LINGER_S, 0.2 * self._timeout_s))

    def _own_fault(self, error: BaseException) -> RankLost:
        return RankLost(f"rank {self._mesh.rank} left the collective: {error!r}", [self._mesh.rank])

    def _refuse_the_dead(self) -> None:
        dead = {peer for peer, line in self._mesh.lines.items() if line.is_closed}
        if lost := [wait for wait in self._waits() if wait.peer in dead]:
            raise self._lost(lost, "died", is_silent=False)

    def _ask(self) -> None:
        self._asked_at, self._mesh.here = time.monotonic(), set()
        self._asked = {wait.peer for wait in self._waits()}
        for peer in self._asked:
            self._mesh.lines[peer].post(Frame(ASK))

    def _judge(self, stalled_s: float) -> None:
        waits = self._waits()
        if silent := [wait for wait in waits if wait.peer in self._asked - self._mesh.here]:
            raise self._lost(silent, f"said nothing for {stalled_s:.1f} s", is_silent=True)
        if stalled_s > GIVE_UP_AFTER * self._timeout_s:
            what = f"nothing has come for {stalled_s:.1f} s: rank {self._mesh.rank} waited for"
            raise RankLost(f"{what} {sorted({wait.peer for wait in waits})}, which are in the collective", [])

    def _lost(self, waits: list[Wait], what: str, *, is_silent: bool) -> RankLost:
        first = min(waits, key=lambda wait: wait.round)
        names = sorted({wait.peer for wait in waits if wait.round == first.round})
        who = f"rank {names[0]}" if len(names) == 1 else f"ranks {', '.join(map(str, names))}"
        message = f"{who} {what}: rank {self._mesh.rank} waited in round {first.round} of the collective"
        return RankLost(message, names, is_silent=is_silent, in_round=first.round)
