"""The limits of a Slurm cluster: after a failed answer, or a call that the rate limit stopped, they are read again
soon.
"""

import time
from types import SimpleNamespace

import pytest

from scheduler.clusters.cluster import Limits, NoAnswerError, RateLimitedError
from scheduler.clusters.rate_limit import Priority, UnlimitedRate
from scheduler.clusters.slurm import limits
from scheduler.clusters.slurm.commands import Commands
from scheduler.clusters.slurm.limits import REFRESH_S, RETRY_S, UNKNOWN_RETRY_S, SlurmLimits
from tests.testing.clusters import Play

CONFIGURED = 'printf "MaxArraySize = 5\\nMaxJobCount = 10000\\nMinJobAge = 60 sec\\n"'
FORTY = 'echo "$(id -un)|40"'


class FewCalls(UnlimitedRate):
    """Allow so many calls."""

    def __init__(self, free: int) -> None:
        self.free, self.called = free, list[str]()

    def acquire(self, priority: Priority) -> bool:
        self.free -= 1
        return self.free >= 0

    def record(self, command: str, outcome: str, seconds: float) -> None:
        self.called.append(command)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return by how many seconds the clock is ahead; a test may change the number."""
    ahead = [0.0]
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + ahead[0]))
    return ahead


def test_a_limit_that_the_rate_limit_hid_is_read_as_soon_as_possible(play: Play) -> None:
    """Forces the fault: the rate limit is reached between scontrol and sacctmgr."""
    play("scontrol", CONFIGURED)
    play("sacctmgr", FORTY)
    rate_limit = FewCalls(1)
    limits = SlurmLimits(Commands(rate_limit))
    assert limits.read().jobs == 10_000
    rate_limit.free = 1
    assert limits.read().jobs == limits.read().jobs == 40
    assert rate_limit.called == ["scontrol", "sacctmgr"]


def test_a_failed_sacctmgr_is_called_again_sooner_than_a_successful_one(play: Play, later: list[float]) -> None:
    play("scontrol", CONFIGURED)
    rate_limit = FewCalls(99)
    limits = SlurmLimits(Commands(rate_limit))
    assert limits.read().jobs == limits.read().jobs == 10_000
    play("sacctmgr", FORTY)
    later[0] = RETRY_S + 1
    assert limits.read().jobs == 40
    play("sacctmgr", "exit 1")
    later[0] += REFRESH_S + 1
    assert limits.read().jobs == 40  # until a reading succeeds, the last value holds
    assert rate_limit.called == ["scontrol", "sacctmgr", "sacctmgr", "scontrol", "sacctmgr"]


@pytest.mark.parametrize("answer", ["exit 1", "true", "echo garbage"])
def test_an_answer_that_is_no_configuration_leaves_the_limits_unknown_until_the_retry(
    play: Play, later: list[float], answer: str
) -> None:
    play("scontrol", answer)
    rate_limit = FewCalls(99)
    limits = SlurmLimits(Commands(rate_limit))
    for _ in range(2):
        with pytest.raises(NoAnswerError, match="scontrol"):
            limits.read()
    assert (rate_limit.called, limits.known) == (["scontrol"], None)
    play("scontrol", CONFIGURED)
    later[0] = UNKNOWN_RETRY_S + 1
    assert limits.read() == limits.known == Limits(tasks=5, jobs=10_000, retention_s=60)
    play("scontrol", answer)
    later[0] += REFRESH_S + 1
    assert limits.read().tasks == 5


def test_a_cluster_that_lists_ended_jobs_for_ever_has_no_retention(play: Play) -> None:
    play("scontrol", 'printf "MaxArraySize = 5\\nMinJobAge = 0 sec\\n"')
    assert SlurmLimits(Commands(UnlimitedRate())).read() == Limits(tasks=5)


def test_an_array_size_that_was_refused_is_tried_again_later(play: Play, later: list[float]) -> None:
    play("scontrol", CONFIGURED)
    limits = SlurmLimits(Commands(FewCalls(99)))
    limits.read()
    for refused, largest in ((5, 2), (3, 1), (4, 1)):
        limits.record_refused(refused)
        assert limits.read().tasks == largest
    for accepted, largest in ((1, 2), (1, 2), (2, 3), (3, 3)):
        limits.record_accepted(accepted)
        assert limits.read().tasks == largest, "4 were refused"
    later[0] += RETRY_S + 1
    assert (limits.read().tasks, limits.largest_array) == (5, 5)
    limits.record_refused(3)
    later[0] += RETRY_S + 1
    for largest in (2, 4, 5, 5):
        assert limits.read().tasks == largest
        limits.record_accepted(largest)


def test_without_a_free_call_the_limits_are_unknown(play: Play) -> None:
    with pytest.raises(RateLimitedError):
        SlurmLimits(Commands(FewCalls(0))).read()
