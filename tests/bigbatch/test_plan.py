"""Tests of `bigbatch plan`."""

import json
from pathlib import Path

import pytest

from bigbatch.client import Client
from tests.testing.command import Call

SPEC = """
name: plan of a net
base:
  model: {kind: resnet50}
  data: {kind: folder, path: /d, classes: 1000, train_samples: 1281167, heldout_samples: 50000}
  optimizer: {kind: lars}
  schedule: {kind: constant, rate: 1.0}
  batch: 2048
  epochs: 90
"""


@pytest.fixture
def words(tmp_path: Path) -> list[str | int]:
    (tmp_path / "spec.yaml").write_text(SPEC)
    return ["plan", str(tmp_path / "spec.yaml"), "--hosts", 4, "--ranks-per-host", 4, "--rate", "12.5GB/s"]


def test_plan_prints_memory_batch_ranks_and_the_fastest_options(
    client: Client, call: Call, words: list[str | int]
) -> None:
    reported = call(*words, "--device", "v100", "--device-hour-price", 2)
    lines = reported.out.splitlines()
    assert lines[0].startswith("memory of a rank: ")
    assert "batch 2,048 on 16 ranks: " in reported.out
    assert any(line.split()[:2] == ["rule", "collective"] for line in lines)
    assert "measured: nothing" in reported.err
    assert "0.45 of the float32 peak" in reported.err


def test_plan_uses_a_measured_speed(client: Client, call: Call, words: list[str | int]) -> None:
    answer = json.loads(call(*words, "--device", "v100", "--samples-per-s", 300, "--json").out)
    assert answer["samples_per_s"] == 300
    assert answer["measured"] == ["300 samples/s of one rank"]
    assert len(answer["options"]) > 12


def test_plan_prices_the_k_fac_of_the_spec_and_always_shows_it(
    client: Client, call: Call, tmp_path: Path, words: list[str | int]
) -> None:
    device = ("--device", "v100")
    slow = (*device, "--rate", "1.25GB/s")  # an exchange that K-FAC makes longer
    every_step = SPEC + "  preconditioner: {kind: kfac, factor_every: 1, inverse_every: 1}\n"
    (tmp_path / "kfac.yaml").write_text(every_step)
    of_spec = ["plan", str(tmp_path / "kfac.yaml"), *words[2:]]
    usual, often = (json.loads(call(*one, *slow, "--json").out) for one in (words, of_spec))
    assert often["kfac"]["added_s"] > 5 * usual["kfac"]["added_s"]
    reported = call(*of_spec, *slow).out
    ratio = f"{often['kfac']['ratio']:.2f} times a step without it"
    assert ratio in reported
    assert f"less than {often['kfac']['pays_below']:.0%} of the epochs" in reported
    assert not any(option["has_kfac"] for option in often["options"][:12])
    fastest = next(option for option in often["options"] if option["has_kfac"])
    assert [line for line in reported.splitlines() if line.startswith(fastest["rule"])]


def test_plan_names_a_device_that_is_not_known(client: Client, call: Call, words: list[str | int]) -> None:
    reported = call(*words, "--device", "abacus")
    assert reported.code == 2
    assert "abacus is no known device; known ones are " in reported.err


def test_plan_names_the_figures_that_a_device_without_a_name_needs(
    client: Client, call: Call, words: list[str | int]
) -> None:
    reported = call(*words, "--flops", "1e13")
    assert reported.code == 2
    assert "needs both flops and memory_bytes" in reported.err


def test_a_program_cannot_be_planned(client: Client, call: Call, tmp_path: Path) -> None:
    (tmp_path / "program.yaml").write_text("name: p\nbase: {kind: program, command: ['true']}\n")
    reported = call("plan", str(tmp_path / "program.yaml"), "--hosts", 1, "--ranks-per-host", 1, "--device", "v100")
    assert reported.code == 1
    assert "runs a program" in reported.err
