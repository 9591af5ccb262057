"""A sweep on a real Slurm whose QOS admits five jobs of a user at once and shows that by refusals only."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.submit_limit import jobs_in_lab, measure
from tests.testing.faults import light
from tests.testing.faults.lab import mend
from tests.testing.faults.on_fake_slurm import STEPS_PER_EPOCH
from tests.testing.service import Service, running

pytestmark = [pytest.mark.slurm, pytest.mark.long]
LIMIT, RUNS, LASTS_S = 5, 40, 30.0


@pytest.fixture
def service(lab: dict[str, str], tmp_path: Path) -> Iterator[Service]:
    settings = {
        **lab,
        "BIGBATCH_SLURM": "true",
        "BIGBATCH_SLURM_PYTHON": str(light.program(tmp_path)),
        light.STEP_S: str(LASTS_S / STEPS_PER_EPOCH),
    }
    subprocess.run([sys.executable, "-m", "lab", "up", "--max-submit-jobs", str(LIMIT)], check=True)
    try:
        with running(tmp_path / "home", settings) as service:
            yield service
    finally:
        mend(limit=None)


def test_a_sweep_under_a_submit_limit_uses_it_and_refusals_leave_no_trace(service: Service) -> None:
    """Forces the fault: Slurm refuses each array of more than five tasks, and each job beside five others."""
    figures = measure(service, jobs_in_lab, runs=RUNS, limit=LIMIT, within_s=900)
    assert figures.done == RUNS
    assert figures.largest_attempt == 1
    assert figures.moves_per_run <= 5, "queued, submitting, pending, running, done"
    assert 1 <= figures.refused <= 0.3 * figures.calls, figures
    # on two busy cores, the first minute with its search included; docs/log has the share of a long sweep
    assert figures.share > 0.6, figures
