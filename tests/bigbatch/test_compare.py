"""Tests of `bigbatch compare`."""

import json

import pytest

from bigbatch.client import Client
from contract.lifecycle.state import State
from tests.testing import seed_runs
from tests.testing.command import SPEC, Call, Site
from tests.testing.seed_runs import TO_RUNNING


def trained(site: Site, run_id: int, *, seconds: float, accuracy: float) -> None:
    """A run of one step, evaluated after so many seconds."""
    seed_runs.move(site, run_id, (*TO_RUNNING, State.DONE))
    seed_runs.measure(site, run_id, 1, compute_s=9.0, epoch=1.0, trained_s=seconds, heldout_accuracy=accuracy)


@pytest.mark.ring("all")
def test_a_speedup_comes_with_accuracy_and_choices(client: Client, site: Site, call: Call) -> None:
    one, two = client.create(SPEC).runs
    trained(site, one, seconds=2.0, accuracy=0.9)
    trained(site, two, seconds=0.5, accuracy=0.95)
    reported = call("compare", one, two)
    assert reported.code == 0
    assert f"4.00 x as fast as run {one} to an accuracy of 90.00 %" in reported.out
    rows = {line.split()[0]: line.split()[1:] for line in reported.out.splitlines() if len(line.split()) == 3}
    assert rows["schedule.rate"] == ["0.05", "0.1"]
    assert rows["batch"] == ["64", "="]
    assert "one run of each" in reported.err
    answer = json.loads(call("compare", one, two, "--json").out)
    assert answer["speedup"] == 4.0
    assert answer["differences"] == {"schedule.rate": {"baseline": 0.05, "other": 0.1}}
    assert answer["other"]["spec"]["batch"] == 64


@pytest.mark.ring("all")
def test_an_unfair_comparison_is_refused_with_its_reasons(client: Client, site: Site, call: Call) -> None:
    one, two = client.create(SPEC).runs
    trained(site, one, seconds=2.0, accuracy=0.9)
    trained(site, two, seconds=0.5, accuracy=0.8)
    reported = call("compare", one, two)
    assert reported.code == 1
    assert f"run {two} never reached an accuracy of 90.00 %: its best is 80.00 %" in reported.err
    assert call("compare", one, two, "--accuracy", 0.8).code == 0
