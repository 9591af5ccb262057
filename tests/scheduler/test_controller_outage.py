"""A controller that keeps silent is left alone: its calls are there when it is back, and what was in doubt is known."""

import subprocess
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine

from scheduler.clusters.cluster import BusyError, DoubtError, Held, SparedError
from scheduler.clusters.rate_limit import SPARE_S, OpenGate, Urgency
from scheduler.clusters.shared_rate_limit import Budget
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.commands import Commands
from tests.scheduler.conftest import Play

SILENT = 'echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1'


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 1e9
        own = SimpleNamespace(time=lambda: self.at, monotonic=lambda: self.at)
        for module in ("store.rate_limit", "scheduler.clusters.slurm.find", "scheduler.clusters.slurm.cluster"):
            monkeypatch.setattr(f"{module}.time", own)


def test_all_workers_leave_a_silent_controller_alone_until_it_answers_a_look(
    play: Play, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Forces the fault: the controller cannot be reached; the accounting can."""
    clock = Clock(monkeypatch)
    one, other = [Commands(Budget(sqlite_engine, "slurm")) for _ in range(2)]
    play("squeue", SILENT)
    play("scancel", f"touch {tmp_path}/called")
    play("sacct", "echo 7")
    with pytest.raises(DoubtError, match="Unable to contact"):
        one.ask("squeue")
    for worker in (one, other):
        with pytest.raises(SparedError, match="did not answer a moment ago"):
            worker.run("scancel", "7", urgency=Urgency.ACT)
    assert (other.ask("sacct"), (tmp_path / "called").exists()) == ("7\n", False)
    play("squeue", "echo 7")
    assert other.ask("squeue", urgency=Urgency.LOOK) == "7\n"
    one.run("scancel", "7", urgency=Urgency.ACT)
    assert (tmp_path / "called").exists()
    play("squeue", SILENT)
    with pytest.raises(DoubtError):
        one.ask("squeue")
    assert one.gate.spared()
    clock.at += SPARE_S
    assert not other.gate.spared(), "whether it is back has to be found out"


def test_a_clock_that_is_set_back_spares_nobody_for_long(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, gate = Clock(monkeypatch), Budget(sqlite_engine, "slurm")
    gate.heard(silence=True)
    clock.at -= 600.0
    assert not gate.spared()


@pytest.mark.parametrize(
    ("said", "is_silence"),
    [
        ("squeue: error: Unable to contact slurm controller (connect failure)", True),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", True),
        ("scontrol: error: Invalid job id specified", False),
        ("sbatch: error: Batch job submission failed: Invalid account or account/partition combination", False),
    ],
)
def test_a_refusal_is_no_silence(play: Play, said: str, is_silence: bool) -> None:
    play("scontrol", f"echo '{said}' >&2; exit 1")
    assert Commands(OpenGate()).run("scontrol", urgency=Urgency.ASK).is_silence is is_silence


@pytest.mark.parametrize("minutes", [0.5, 3.0])
@pytest.mark.parametrize("phase_s", range(0, 21, 5))
def test_what_was_in_doubt_is_known_soon_after_an_outage(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, minutes: float, phase_s: int
) -> None:
    """Forces the scarcity: while the controller is away, looks, searches, submissions and stops are all due at once."""
    clock, is_down = Clock(monkeypatch), [True]
    calls: list[tuple[float, str]] = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        name = command[2]
        calls.append((clock.at, name))
        if is_down[0] and name != "sacct":
            return SimpleNamespace(returncode=1, stdout="", stderr="Unable to contact slurm controller")
        return SimpleNamespace(returncode=0, stdout="", stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    cluster = Slurm(gate=Budget(sqlite_engine, "slurm"))
    look_at = stop_at = find_at = clock.at
    ends = clock.at + 60.0 * minutes + phase_s
    while clock.at < ends + 30.0:
        clock.at += 1.0
        is_down[0] = clock.at < ends
        if clock.at >= look_at:
            try:
                cluster.ask([Held("7", "mine")])
                look_at = clock.at + 6.0
            except BusyError:
                look_at = clock.at + 2.0
        if clock.at >= stop_at:
            with suppress(DoubtError):
                cluster.cancel([Held("7", "mine")])
            stop_at = clock.at + 10.0
        if is_down[0] and cluster.may_submit():
            cluster._commands.run("sbatch", urgency=Urgency.ACT)
        if clock.at >= find_at:
            try:
                if cluster.find(["doubted"]) == {"doubted": None}:
                    break
                find_at = clock.at + 2.0
            except BusyError:
                find_at = clock.at + 2.0
            except DoubtError:
                find_at = clock.at + 10.0
    took_s = clock.at - ends
    print(f"known {took_s:g} s after the controller was back")
    assert 0.0 <= took_s <= 20.0, f"known {took_s:g} s after the controller was back"
    assert max(sum(at <= other < at + 60.0 for other, _ in calls) for at, _ in calls) <= 12
