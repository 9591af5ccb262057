"""A user's net and data on two hosts of the lab: drawn alike on both, or ended before the first step."""

from typing import Any

import pytest

from tests.testing.service import Service

pytestmark = [pytest.mark.flow, pytest.mark.slurm, pytest.mark.postgres, pytest.mark.redis]
SPEC = """
name: own parts
base:
  model: {{kind: import, function: "tests.testing.trainers.drawn_parts:net", options: {{draw: numpy}}}}
  data:
    kind: import
    function: "tests.testing.trainers.drawn_parts:split_by"
    options: {{source: {source}}}
    shape: [1, 8, 8]
    classes: 4
    train_samples: 48
    heldout_samples: 16
  optimizer: {{kind: sgd}}
  schedule: {{kind: constant, rate: 0.05}}
  batch: 16
  epochs: 2
  collective: {{kind: native}}
  device: cpu
  resources: {{kind: slurm, partition: gpu, nodes: 2, ranks_per_node: 1}}
"""


def ended(team: Service, source: str) -> dict[str, Any]:
    (run_id,) = team.post(SPEC.format(source=source))
    return team.wait_for_end(run_id)


def test_a_random_division_and_weights_of_numpy_are_alike_on_two_hosts(team: Service) -> None:
    run = ended(team, "numpy")
    assert run["state"] == "done", team.story(run["id"])


def test_a_division_that_differs_between_two_hosts_ends_the_run_before_its_first_step(team: Service) -> None:
    run = ended(team, "unseeded")
    assert run["state"] == "failed", team.story(run["id"])
    assert "the data of the ranks differ before the first step in the labels of the training set" in run["reason"]
    assert "loss" not in team.get(f"/runs/{run['id']}/points")["series"]
