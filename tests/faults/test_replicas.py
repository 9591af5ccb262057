"""A run of replicas on a real Slurm outlives a worker of its own: the others train on, and no attempt is made again."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.testing.faults import lab as hand
from tests.testing.faults.audit import all_is_well
from tests.testing.faults.truth import true_soon
from tests.testing.servers import wait_for
from tests.testing.service import running

pytestmark = [pytest.mark.slurm, pytest.mark.long]
ENDS_S = 20.0  # of the job, after rank 0; the service ends jobs that stay longer, about 40 s after their runs
SPEC = """
name: replicas
base:
  rule: {kind: easgd, variant: async, period: 1, rho: 0.5}
  optimizer: {kind: sgd, momentum: 0.0}
  schedule: {kind: constant, rate: 0.05}
  collective: {kind: native, timeout_s: 5.0}
  batch: 48
  epochs: 80
  resources: {kind: slurm, nodes: 3, ranks_per_node: 1, partition: gpu}
"""


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
def test_a_run_of_replicas_outlives_a_worker(fault: signal.Signals, tmp_path: Path, lab: dict[str, str]) -> None:
    """Forces the fault: SIGKILL or SIGSTOP to rank 2, alone on its host.

    Slurm must end neither the step nor the job for a killed rank, and must not wait for a stopped one at the end.
    """
    settings = {**lab, "BIGBATCH_SLURM": "true", "BIGBATCH_SLURM_SETUP": "export OMP_NUM_THREADS=1"}
    began = time.time()
    with running(tmp_path / "home", settings) as team:
        (run_id,) = team.post(SPEC)
        team.wait_until(run_id, step=15, patience_s=120)
        folder = team.get(f"/runs/{run_id}")["folder"]
        os.kill(hand.ranks_of(folder)[2], fault)
        true_soon(team, [run_id], hand.jobs)
        run = team.wait_for_end(run_id, 180)
        assert (run["state"], run["attempt"]) == ("done", 1), team.story(run_id)
        wait_for("the end of the job", lambda: not hand.is_under_way(run["job_id"]), ENDS_S)
        (lost,) = run["lost_ranks"]
        assert (lost["attempt"], lost["rank"]) == (1, 2)
        all_is_well(team, [run_id], lambda: hand.accounting(began))
