"""The failure detector: finds the ranks that prevent a collective from making progress, and reports them to all peers.

A rank that dies closes its connections, and its peers notice immediately. A rank that stalls keeps its connections
open. So a rank without progress for most of the timeout sends a PING to each awaited peer, repeatedly. A peer that is
in the collective answers with a PONG immediately; the peers without an answer have failed. The rank that finds a failed
peer sends an ABORT to its peers, and they forward the ABORT, so all ranks raise the same message. A rank whose awaited
peers all answer leaves the decision to other ranks, but gives up after twice the timeout.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from trainers.collectives.wire.connections import Connections
from trainers.collectives.wire.frame import PING, Frame
from trainers.collectives.wire.rank_lost import RankLost

PING_AFTER = 0.6  # these three are fractions of the timeout
PONG_WITHIN = 0.2
GIVE_UP_AFTER = 2.0
DRAIN_S = 1.0  # for the peers to read the ABORT


class AwaitedRank(NamedTuple):
    """A peer whose message this rank awaits, and the round of that message."""

    peer: int
    round: int


class FailureDetector:
    """Detect failed ranks during one collective; `awaited` returns the peers that this rank awaits now.

    Raise the recorded failure if an earlier collective on these connections failed.
    """

    def __init__(self, connections: Connections, *, timeout_s: float, awaited: Callable[[], list[AwaitedRank]]) -> None:
        self._connections, self._state, self._timeout_s = connections, connections.state, timeout_s
        self._awaited = awaited
        self.poll_timeout_s = min(timeout_s / 20, 1.0)
        self._progress_at = time.monotonic()
        self._received_parts, self._probes = self._state.received_parts, self._state.probes
        self._pinged_at: float | None = None
        self._pinged: set[int] = set()
        self._state.raise_if_failed()

    def check_progress(self, moved_bytes: int) -> None:
        """Record how many bytes moved since the last call; raise RankLost if the collective cannot finish."""
        if any(connection.is_closed for connection in self._connections.to.values()):
            self._raise_if_awaited_peer_died()
        now, state = time.monotonic(), self._state
        if state.received_parts != self._received_parts or (moved_bytes and state.probes == self._probes):
            self._progress_at, self._pinged_at = now, None
        elif self._pinged_at is None:
            if now - self._progress_at > PING_AFTER * self._timeout_s:
                self._send_pings()
        elif now - self._pinged_at > PONG_WITHIN * self._timeout_s:
            self._raise_if_unresponsive(now - self._progress_at)
            self._send_pings()
        self._received_parts, self._probes = state.received_parts, state.probes

    def report_failure(self, error: BaseException) -> None:
        """Send the reason for this rank's exit from the collective to every peer, and refuse further collectives."""
        rank = self._connections.rank
        if not isinstance(error, RankLost):
            error = RankLost(f"rank {rank} left the collective: {error!r}", [rank])
        self._connections.abort(error)
        self._connections.drain(min(DRAIN_S, 0.2 * self._timeout_s))

    def _raise_if_awaited_peer_died(self) -> None:
        closed = self._connections.closed_peers
        if dead := [awaited for awaited in self._awaited() if awaited.peer in closed]:
            raise self._rank_lost(dead, "died", is_unresponsive=False)

    def _send_pings(self) -> None:
        self._pinged_at = time.monotonic()
        self._state.forget_pongs()
        self._pinged = {awaited.peer for awaited in self._awaited()}
        for peer in self._pinged:
            self._connections.to[peer].send(Frame(PING))

    def _raise_if_unresponsive(self, stalled_s: float) -> None:
        all_awaited = self._awaited()
        unresponsive = self._pinged - self._state.responsive
        if failed := [awaited for awaited in all_awaited if awaited.peer in unresponsive]:
            raise self._rank_lost(failed, f"did not respond for {stalled_s:.1f} s", is_unresponsive=True)
        if stalled_s > GIVE_UP_AFTER * self._timeout_s:
            peers = sorted({awaited.peer for awaited in all_awaited})
            raise RankLost(
                f"rank {self._connections.rank} received nothing for {stalled_s:.1f} s: it waited for ranks {peers}, "
                "which respond but do not make progress either",
                [],
            )

    def _rank_lost(self, failed: list[AwaitedRank], how: str, *, is_unresponsive: bool) -> RankLost:
        first = min(failed, key=lambda awaited: awaited.round)
        ranks = sorted({awaited.peer for awaited in failed if awaited.round == first.round})
        names = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"
        message = f"{names} {how}: rank {self._connections.rank} waited in round {first.round} of the collective"
        return RankLost(message, ranks, is_unresponsive=is_unresponsive, in_round=first.round)
