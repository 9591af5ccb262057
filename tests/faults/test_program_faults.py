"""Own programs whose agent or rank is killed or stopped: each step is once on the curve, and lost steps are exact."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.testing.faults.on_fake_slurm import OnStandIn
from tests.testing.faults.programs.ledger import ledger_faults
from tests.testing.faults.programs.load import Variant, document_of
from tests.testing.faults.programs.mishaps import agents_of, ranks_of

pytestmark = pytest.mark.flow
LOGS = Variant("srun", 1, 1, "log", True, 1)
PAIR = Variant("srun", 1, 2, "output", True, 1)
PLAIN = Variant("plain", 1, 1, "lines", False, 1)


def strike(on: OnStandIn, variant: Variant, ledger: Path, find: Callable[[str], list[int]], number: int) -> None:
    """Send a signal to a process of a run after some steps; wait until the run is done and compare all records."""
    ledger.mkdir()
    (run_id,) = on.service.post(document_of(variant, {"steps": 40}, ledger))
    on.service.wait_until(run_id, step=7)
    os.kill(find(on.service.get(f"/runs/{run_id}")["folder"])[-1], number)
    on.all_done([run_id], within_s=400)
    run = on.service.get(f"/runs/{run_id}")
    assert ledger_faults(run, ledger) == []
    assert run["attempt"] > 1
    assert {bool(restart["step"]) for restart in run["restarts"]} == {variant.keeps}


@pytest.mark.parametrize("variant", [LOGS, PAIR, PLAIN], ids=lambda variant: variant.way)
@pytest.mark.parametrize("find", [agents_of, ranks_of])
def test_a_killed_process_costs_one_attempt(
    on: OnStandIn, tmp_path: Path, variant: Variant, find: Callable[[str], list[int]]
) -> None:
    """Forces the fault: SIGKILL of an agent, and of a rank's process under its agent."""
    strike(on, variant, tmp_path / "ledger", find, signal.SIGKILL)


@pytest.mark.long
@pytest.mark.parametrize("variant", [LOGS, PAIR], ids=lambda variant: variant.way)
def test_a_stopped_rank_costs_one_attempt(on: OnStandIn, tmp_path: Path, variant: Variant) -> None:
    """Forces the fault: SIGSTOP of a rank's process, which nothing continues."""
    strike(on, variant, tmp_path / "ledger", ranks_of, signal.SIGSTOP)
