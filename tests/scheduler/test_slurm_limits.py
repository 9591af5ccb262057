"""A Slurm's limits: an answer that fails, or a call that had to wait, hides none of them for long."""

import time
from types import SimpleNamespace

import pytest

from scheduler.clusters.cluster import BusyError, DoubtError, Limits
from scheduler.clusters.rate_limit import OpenGate, Urgency
from scheduler.clusters.slurm import limits as slurm_limits
from scheduler.clusters.slurm.commands import Commands
from scheduler.clusters.slurm.limits import AGAIN_S, REST_S, SERVES_S, SlurmLimits
from tests.scheduler.conftest import Play

CONFIGURED = 'printf "MaxArraySize = 5\\nMaxJobCount = 10000\\nMinJobAge = 60 sec\\n"'
FORTY = 'echo "$(id -un)|40"'


class Turnstile(OpenGate):
    """Lets so many pass."""

    def __init__(self, left: int) -> None:
        self.left, self.called = left, list[str]()

    def enter(self, urgency: Urgency) -> bool:
        self.left -= 1
        return self.left >= 0

    def note(self, command: str, outcome: str, seconds: float) -> None:
        self.called.append(command)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How much later it is than it was."""
    ahead = [0.0]
    monkeypatch.setattr(slurm_limits, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + ahead[0]))
    return ahead


def test_a_limit_that_could_not_be_asked_for_is_asked_for_as_soon_as_it_may_be(play: Play) -> None:
    """Forces the fault: the minute's calls are spent between scontrol and sacctmgr."""
    play("scontrol", CONFIGURED)
    play("sacctmgr", FORTY)
    gate = Turnstile(1)
    limits = SlurmLimits(Commands(gate))
    assert limits.read().jobs == 10_000
    gate.left = 1
    assert limits.read().jobs == limits.read().jobs == 40
    assert gate.called == ["scontrol", "sacctmgr"]


def test_a_sacctmgr_that_failed_is_asked_sooner_than_one_that_answered(play: Play, later: list[float]) -> None:
    play("scontrol", CONFIGURED)
    gate = Turnstile(99)
    limits = SlurmLimits(Commands(gate))
    assert limits.read().jobs == limits.read().jobs == 10_000
    play("sacctmgr", FORTY)
    later[0] = AGAIN_S + 1
    assert limits.read().jobs == 40
    play("sacctmgr", "exit 1")
    later[0] += SERVES_S + 1
    assert limits.read().jobs == 40  # of what is not known anew, the last is true
    assert gate.called == ["scontrol", "sacctmgr", "sacctmgr", "scontrol", "sacctmgr"]


@pytest.mark.parametrize("answer", ["exit 1", "true", "echo garbage"])
def test_a_configuration_that_is_none_is_doubt_and_asked_for_at_a_rest(
    play: Play, later: list[float], answer: str
) -> None:
    play("scontrol", answer)
    gate = Turnstile(99)
    limits = SlurmLimits(Commands(gate))
    for _ in range(2):
        with pytest.raises(DoubtError, match="scontrol"):
            limits.read()
    assert (gate.called, limits.known) == (["scontrol"], None)
    play("scontrol", CONFIGURED)
    later[0] = REST_S + 1
    assert limits.read() == limits.known == Limits(tasks=5, jobs=10_000, remembers_s=60)
    play("scontrol", answer)
    later[0] += SERVES_S + 1
    assert limits.read().tasks == 5


def test_a_slurm_that_forgets_no_job_has_no_moment_of_it(play: Play) -> None:
    play("scontrol", 'printf "MaxArraySize = 5\\nMinJobAge = 0 sec\\n"')
    assert SlurmLimits(Commands(OpenGate())).read() == Limits(tasks=5)


def test_what_was_too_much_once_may_be_taken_later(play: Play, later: list[float]) -> None:
    play("scontrol", CONFIGURED)
    limits = SlurmLimits(Commands(Turnstile(99)))
    limits.read()
    for too_much, tried in ((5, 2), (3, 1), (4, 1)):
        limits.was_too_much(too_much)
        assert limits.read().tasks == tried
    for taken, tried in ((1, 2), (1, 2), (2, 3), (3, 3)):
        limits.was_taken(taken)
        assert limits.read().tasks == tried, "4 were refused"
    later[0] += AGAIN_S + 1
    assert (limits.read().tasks, limits.largest_array) == (5, 5)
    limits.was_too_much(3)
    later[0] += AGAIN_S + 1
    for tried in (2, 4, 5, 5):
        assert limits.read().tasks == tried
        limits.was_taken(tried)


def test_while_no_call_is_left_nothing_is_known(play: Play) -> None:
    with pytest.raises(BusyError):
        SlurmLimits(Commands(Turnstile(0))).read()
