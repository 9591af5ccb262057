"""Predicted starts of drafts: `sbatch --test-only` for each kind of job, under the rate limit, without a submission."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from contract.settings import Settings
from contract.spec.expanded import Expanded, read_experiment
from lab.fake_slurm import programs
from lab.fake_slurm import state as fake_state
from lab.fake_slurm.state import ClusterState
from scheduler.clusters.rate_limit import UnlimitedRate
from scheduler.clusters.slurm.commands import CommandResult, Commands
from scheduler.clusters.slurm.predict import predict_start
from scheduler.submit import predict
from scheduler.submit.predict import predict_starts
from tests.testing.fake_slurm import on_path
from tests.testing.specs import small_experiment


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterState:
    """A fake Slurm of two hosts on PATH, which runs no job."""
    folder = tmp_path / "slurm"
    made = ClusterState.create(folder, fake_state.Settings(hosts=2, cpus=4, carried=0))
    programs.write(folder)
    monkeypatch.setenv("PATH", on_path(folder))
    return made


def settings_of(tmp_path: Path, engine: Engine) -> Settings:
    url = engine.url.render_as_string(hide_password=False)
    return Settings(home=tmp_path, database=url, slurm=True, runs=tmp_path / "runs")


def draft(nodes: list[int], seeds: int = 1) -> Expanded:
    document = small_experiment().spec.model_dump(mode="json")
    document["base"]["resources"] = {"kind": "slurm", "nodes": 1, "ranks_per_node": 4, "minutes": 30}
    document["axes"] = {"resources.nodes": nodes, "seed": list(range(seeds))}
    return read_experiment(document)


def test_slurm_predicts_a_start_for_each_kind_of_job_and_nothing_is_submitted(
    cluster: ClusterState, tmp_path: Path, sqlite_engine: Engine
) -> None:
    settings = settings_of(tmp_path, sqlite_engine)
    free, too_large = predict_starts(draft([1, 4], seeds=4), settings)
    assert free.starts_at is not None
    assert abs(free.starts_at - datetime.now(UTC)) < timedelta(minutes=2)
    assert (too_large.starts_at, too_large.message) == (None, "Requested node configuration is not available")
    assert cluster.jobs("1 = 1") == []


def test_a_rate_limit_that_is_reached_asks_slurm_nothing(
    cluster: ClusterState, tmp_path: Path, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the limit: its shared calls of this minute are used up after the third."""
    settings = settings_of(tmp_path, sqlite_engine)
    first = [one.message for one in predict_starts(draft([1, 2]), settings)]
    second = [one.message for one in predict_starts(draft([1, 2]), settings)]
    assert (first, second) == (["", ""], ["", predict.ASK_AGAIN])
    calls = cluster.db.execute("SELECT count(*) FROM calls WHERE command = 'sbatch'").fetchone()[0]
    assert calls == 3


@pytest.mark.parametrize(
    ("exit_code", "message", "starts", "said"),
    [
        (0, "sbatch: Job 7 to start at 2026-11-27T13:40:00 using 4 processors on nodes n1 in partition gpu", True, ""),
        (1, "allocation failure: Invalid account", False, "Invalid account"),
        (1, "", False, "sbatch ended with 1 and no message"),
        (0, "Job 7 to start at a later time", False, "Job 7 to start at a later time"),
    ],
)
def test_an_answer_of_slurm_is_read_or_repeated_as_it_is(
    monkeypatch: pytest.MonkeyPatch, exit_code: int, message: str, starts: bool, said: str
) -> None:
    scripts: list[str] = []

    def run(self: Commands, *command: str, **_: object) -> CommandResult:
        assert command[:2] == ("sbatch", "--test-only")
        scripts.append(Path(command[2]).read_text())
        return CommandResult(exit_code, "", message)

    monkeypatch.setattr(Commands, "run", run)
    script = "#!/bin/bash\n#SBATCH --array=0-11%4\n#SBATCH --nodes=1\n"
    found = predict_start(Commands(UnlimitedRate()), script)
    assert (found.starts_at is not None, found.message) == (starts, said)
    if found.starts_at:
        assert found.starts_at == datetime(2026, 11, 27, 13, 40).astimezone()
    assert not re.search("--array", scripts[0])
