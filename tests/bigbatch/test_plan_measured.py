"""`bigbatch plan --run`: speed, fixed time and links are those that runs measured, apart from what is assumed."""

import json
from pathlib import Path

import pytest

from bigbatch.client import Client
from contract.folder.auto_choice import CollectiveChoice, CollectiveChoices, MeasuredLink
from contract.folder.events import Points
from contract.folder.run_folder import RunFolder
from contract.spec.choices.collectives import Ring
from store.metrics import points
from store.session import transaction
from tests.testing.command import Call, Site

SPEC = """
name: measured
base:
  model: {kind: lenet}
  data: {kind: glyphs}
  optimizer: {kind: sgd}
  schedule: {kind: constant, rate: 0.1}
  batch: 64
  epochs: 2
  resources: {kind: local, ranks_per_node: 2}
axes: {batch: [64, 256]}
"""
FIXED_S, SAMPLE_S, UPDATE_S, INPUT_S = 0.004, 0.001, 0.002, 0.0005


@pytest.fixture
def runs(client: Client, site: Site) -> list[int]:
    """Two runs of 2 ranks with 32 and 128 samples each, whose times lie on a line; some steps were disturbed."""
    created = client.create(SPEC).runs
    with transaction(site.engine) as db:
        for run_id, samples in zip(created, (32, 128), strict=True):
            rows = []
            for step in range(1, 12):
                delay_s = 1.0 if step in (1, 7) else 0.0
                compute_s = FIXED_S + samples * SAMPLE_S + delay_s
                values: dict[str, float | None] = {"compute_s": compute_s, "update_s": UPDATE_S, "input_s": INPUT_S}
                rows.append(Points(attempt=1, at=0.0, step=step, values=values))
            points.put(db, run_id, rows)
    return created


@pytest.fixture
def words(tmp_path: Path) -> list[str | int]:
    (tmp_path / "spec.yaml").write_text(SPEC)
    device = ["--flops", "1e11", "--memory", "4GB"]
    return ["plan", str(tmp_path / "spec.yaml"), "--hosts", 2, "--ranks-per-host", 2, *device]


def write_links(client: Client, run_id: int) -> None:
    """Write what `auto` measured at the start of a run."""
    folder = RunFolder(Path(client.run(run_id).folder))
    folder.path.mkdir(parents=True, exist_ok=True)
    inside, between = MeasuredLink(latency_s=1e-5, rate=3e9), MeasuredLink(latency_s=1e-4, rate=1e8)
    choice = CollectiveChoice(from_bytes=0, collective=Ring())
    folder.write_choices(CollectiveChoices(hosts=[1, 1], inside=inside, between=between, choices=[choice]))


def test_two_runs_determine_the_speed_and_the_fixed_time(
    client: Client, call: Call, runs: list[int], words: list[str | int]
) -> None:
    small, large = runs
    answer = json.loads(call(*words, "--run", small, "--run", large, "--json").out)
    assert answer["samples_per_s"] == pytest.approx(1 / SAMPLE_S)
    assert answer["measured"] == [
        f"1,000 samples/s of one rank and 0.0065 s of a step that no sample adds (runs {small}, {large})"
    ]
    assert "the rates and latencies of the links are those of the request" in answer["assumed"]
    plain = next(option for option in answer["options"] if option["rule"] == "sync without overlap")
    expected_s = 16 * SAMPLE_S + FIXED_S + UPDATE_S + INPUT_S
    assert plain["step_s"] - plain["exchange_s"] == pytest.approx(expected_s)


def test_one_run_determines_the_speed_of_its_batch_and_what_is_beside_it(
    client: Client, call: Call, runs: list[int], words: list[str | int]
) -> None:
    answer = json.loads(call(*words, "--run", runs[0], "--json").out)
    assert answer["samples_per_s"] == pytest.approx(32 / (FIXED_S + 32 * SAMPLE_S))
    assert "0.0025 s of a step that no sample adds" in answer["measured"][0]


@pytest.mark.ring("all")
def test_links_that_auto_measured_are_used_and_are_not_assumed(
    client: Client, call: Call, runs: list[int], words: list[str | int]
) -> None:
    slow = ("--rate", "100MB/s", "--latency", "100us", "--inside-rate", "3GB/s")
    stated, usual = (json.loads(call(*words, "--run", runs[0], *more, "--json").out) for more in (slow, ()))
    write_links(client, runs[0])
    measured = json.loads(call(*words, "--run", runs[0], "--json").out)
    assert measured["options"] == stated["options"] != usual["options"]
    assert measured["measured"][1] == f"rates and latencies of the links (run {runs[0]})"
    assert not any("of the links" in line for line in measured["assumed"])
    partly = json.loads(call(*words, "--run", runs[0], "--rate", "2GB/s", "--json").out)
    assert any("of the links" in line for line in partly["assumed"])


def test_a_run_of_another_net_or_without_times_is_refused(
    client: Client, call: Call, runs: list[int], words: list[str | int], tmp_path: Path
) -> None:
    (tmp_path / "other.yaml").write_text(SPEC.replace("lenet", "convnet"))
    other = call("plan", str(tmp_path / "other.yaml"), *words[2:], "--run", runs[0])
    assert other.code == 1
    assert f"run {runs[0]} trained lenet" in other.err
    (empty, _) = client.create(SPEC).runs
    assert "has no measured computing times" in call(*words, "--run", empty).err
