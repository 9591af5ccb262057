"""Who is to blame when a collective does not go on: the first to know tells all others.

A rank that dies closes its connections, which its peers see at once. A rank that stalls says nothing: whoever has moved
no byte for most of the time-out asks the peers it waits for; one that is itself in the collective answers at once,
so the silent ones are the culprits. Whoever finds one tells its peers, who tell theirs: all end with the same words.
"""

import json
import time
from collections.abc import Callable
from typing import NamedTuple

from trainers.collectives.wire.frame import ASK, FAULT, Frame
from trainers.collectives.wire.lost import RankLost
from trainers.collectives.wire.mesh import Mesh

ASK_AFTER = 0.6  # of the time-out
JUDGE_AFTER = 0.8
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
        self._arrivals = mesh.arrivals
        self._has_asked = False
        if mesh.fault is not None:
            raise mesh.fault

    def look(self, moved: int) -> None:
        """Hear how many bytes moved; raise RankLost if that can't go on."""
        if any(line.is_closed for line in self._mesh.lines.values()):
            self._refuse_the_dead()
        if self._mesh.arrivals != self._arrivals or (moved and not self._has_asked):  # answers are no progress
            self._arrivals, self._moved_at, self._has_asked = self._mesh.arrivals, time.monotonic(), False
            return
        stalled_s = time.monotonic() - self._moved_at
        if stalled_s > ASK_AFTER * self._timeout_s and not self._has_asked:
            self._ask()
        elif stalled_s > JUDGE_AFTER * self._timeout_s:
            self._judge(stalled_s)

    def tell_all(self, error: BaseException) -> None:
        """Tell every peer why this rank leaves, and let nothing more be summed."""
        fault = error if isinstance(error, RankLost) else self._own_fault(error)
        self._mesh.fault = fault
        told = json.dumps({"message": str(fault), "ranks": fault.ranks}).encode()
        for line in self._mesh.lines.values():
            line.abandon()
            line.post(Frame(FAULT, nbytes=len(told)), memoryview(told))
        self._mesh.part(min(LINGER_S, 0.2 * self._timeout_s))

    def _own_fault(self, error: BaseException) -> RankLost:
        return RankLost(f"rank {self._mesh.rank} left the collective: {error!r}", [self._mesh.rank])

    def _refuse_the_dead(self) -> None:
        dead = {peer for peer, line in self._mesh.lines.items() if line.is_closed}
        if lost := [wait for wait in self._waits() if wait.peer in dead]:
            raise self._lost(lost, "died")

    def _ask(self) -> None:
        self._has_asked, self._mesh.here = True, set()
        for peer in {wait.peer for wait in self._waits()}:
            self._mesh.lines[peer].post(Frame(ASK))

    def _judge(self, stalled_s: float) -> None:
        waits = self._waits()
        if silent := [wait for wait in waits if wait.peer not in self._mesh.here]:
            raise self._lost(silent, f"said nothing for {stalled_s:.1f} s")
        if stalled_s > self._timeout_s:
            raise self._lost(waits, f"sent nothing for {stalled_s:.1f} s, though in the collective", ranks=[])

    def _lost(self, waits: list[Wait], what: str, *, ranks: list[int] | None = None) -> RankLost:
        first = min(waits, key=lambda wait: wait.round)
        names = sorted({wait.peer for wait in waits if wait.round == first.round})
        who = f"rank {names[0]}" if len(names) == 1 else f"ranks {', '.join(map(str, names))}"
        message = f"{who} {what}: rank {self._mesh.rank} waited in round {first.round} of the collective"
        return RankLost(message, names if ranks is None else ranks)
