"""The placement of an attempt: whether all its ranks are on one host."""

import pytest

from agent.ranks.placement import find_placement
from tests.testing.trainers.jobs import srun_variables

pytestmark = pytest.mark.ring("quick")


@pytest.mark.parametrize("launcher", ["srun", "torchrun", "mpirun", "plain"])
@pytest.mark.parametrize(
    ("nodes", "names", "is_one_host"), [(1, "n1", True), (2, "n[1-2]", False), (1, "n1,n2", False)]
)
def test_the_ranks_of_one_node_meet_on_its_loopback_address(
    launcher: str, nodes: int, names: str, is_one_host: bool
) -> None:
    spec = {"launcher": launcher, "resources": {"kind": "slurm", "nodes": nodes, "ranks_per_node": 2}}
    environment = srun_variables(0, SLURM_JOB_NODELIST=names)
    assert find_placement(spec, environment).is_one_host is is_one_host


def test_a_local_attempt_is_on_one_host() -> None:
    assert find_placement({"launcher": "srun", "resources": {"kind": "local", "ranks_per_node": 2}}, {}).is_one_host
