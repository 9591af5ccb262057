"""Tests of specs: every valid spec can run, and every issue names its field and calculation."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.expanded import read_experiment
from contract.spec.run import RunSpec
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

BASE: dict[str, Any] = {
    "optimizer": {"kind": "lars"},
    "schedule": {"kind": "polynomial", "rate": 8.0},
    "batch": 64,
    "epochs": 3,
    "resources": {"kind": "local", "ranks_per_node": 4},
}

FOLDER = {"kind": "folder", "path": "/images", "classes": 2, "train_samples": 100, "heldout_samples": 10}


def complaints(base: dict[str, Any], axes: dict[str, Any] | None = None) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        read_experiment({"name": "x", "base": {**BASE, **base}, "axes": axes or {}})
    return [f"{issue.path}: {issue.message}" for issue in issues_of(caught.value)]


@pytest.mark.parametrize(
    ("base", "complaint"),
    [
        ({"batch": 7}, "base.batch: batch 7 does not divide over 4 ranks"),
        ({"batch": 4}, "base.batch: batch 4 over 4 ranks is 1 sample per rank; batch normalization needs at least 2"),
        (
            {"batch": 12, "micro_batch": 2},
            "base.batch: batch 12 over 4 ranks is 3 samples per rank, and in passes of 2 one pass has only 1; "
            "batch normalization needs at least 2",
        ),
        (
            {"batch_stages": [{"epoch": 1, "batch": 130}]},
            "base.batch_stages.0.batch: batch 130 does not divide over 4 ranks",
        ),
        (
            {"batch_stages": [{"epoch": 1, "batch": 1440}]},
            "base.batch_stages.0.batch: batch 1440 is larger than the 1437 training samples of digits",
        ),
        (
            {"batch_stages": [{"epoch": 2, "batch": 128}, {"epoch": 1, "batch": 256}]},
            "base.batch_stages.1.epoch: the stage at epoch 1 must come after epoch 2",
        ),
        (
            {"batch_stages": [{"epoch": 3, "batch": 128}]},
            "base.batch_stages.0.epoch: the stage at epoch 3 is never reached: the run has 3 epochs",
        ),
        ({"batch_norm": {"group": 3}}, "base.batch_norm.group: 4 ranks do not divide into groups of 3"),
        ({"batch": 2048}, "base.batch: batch 2048 is larger than the 1437 training samples of digits"),
        ({"batch": True}, "base.batch: input should be a valid integer"),
        ({"collective": {"kind": "torus", "rows": 3}}, "base.collective.rows: 4 ranks do not form a torus of 3 rows"),
        (
            {"data": {**FOLDER, "in_memory": {"group": 3}}},
            "base.data.in_memory.group: 4 ranks do not divide into groups of 3",
        ),
        (
            {"data": {**FOLDER, "in_memory": {}}, "optimizer": {"kind": "sgd"}, "rule": {"kind": "async_sgd"}},
            "base.data.in_memory.group: groups exchange images before every epoch, but async_sgd does not synchronize: "
            "set group to 1",
        ),
        (
            {"data": {**FOLDER, "path": "images"}},
            "base.data.path: expected a path that begins with /, without NUL characters",
        ),
        (
            {"data": {**FOLDER, "train_samples": 60}},
            "base.batch: batch 64 is larger than the 60 training samples of folder",
        ),
        (
            {"collective": {"kind": "colors", "k": 5}},
            "base.collective.k: 5 colors need at least 5 ranks, but the run has 4",
        ),
        (
            {"collective": {"kind": "hierarchical", "group": 8}},
            "base.collective.group: a group of 8 is larger than the run's 4 ranks",
        ),
        (
            {"collective": {"kind": "server", "servers": 5}},
            "base.collective.servers: 5 servers are more than the run's 4 ranks",
        ),
        (
            {"collective": {"kind": "server", "servers": 0}},
            "base.collective.servers: input should be greater than or equal to 1",
        ),
        ({"optimizer": {"kind": "lars", "momentun": 1}}, "base.optimizer.momentun: unknown field"),
        ({"optimizer": {"kind": "lars", "momentum": 1.0}}, "base.optimizer.momentum: input should be less than 1"),
        ({"optimizer": {}}, "base.optimizer: expected an object with a field 'kind'"),
        ({"optimizer": 3}, "base.optimizer: expected an object of fields and values"),
        ({"schedule": {"kind": "constant"}}, "base.schedule.rate: required field"),
        (
            {"schedule": {"kind": "constant", "rate": 1.0, "warmup_epochs": 3.0}},
            "base.schedule.warmup_epochs: a warm-up of 3 epochs does not end before the run of 3 epochs ends",
        ),
        (
            {"schedule": {"kind": "constant", "rate": 1.0, "start_rate": 0.5}},
            "base.schedule.start_rate: start_rate 0.5 has no effect without warmup_epochs",
        ),
        (
            {"optimizer": {"kind": "sgd", "momentum": 0.0, "nesterov": True}},
            "base.optimizer.nesterov: Nesterov momentum needs a momentum above 0",
        ),
        (
            {"epochs": 2**31 - 1},
            "base.epochs: 2147483647 epochs are 47,244,640,234 steps, more than 2^31 - 1",
        ),
        (
            {"schedule": {"kind": "constant", "rate": 1.0, "start_rate": 2.0, "warmup_epochs": 1.0}},
            "base.schedule.start_rate: the warm-up starts at 2, above the rate 1",
        ),
        (
            {"schedule": {"kind": "constant", "rate": 1.0, "warmup": "quadratic"}},
            "base.schedule.warmup: a quadratic warm-up needs warmup_epochs",
        ),
        (
            {"schedule": {"kind": "step", "rate": 1.0, "milestones": [1.0, 3.0]}},
            "base.schedule.milestones.1: the milestone at epoch 3 is never reached: the run has 3 epochs",
        ),
        (
            {"schedule": {"kind": "step", "rate": 1.0, "milestones": [2.0, 1.5]}},
            "base.schedule.milestones.1: the milestone at epoch 1.5 must come after epoch 2",
        ),
        (
            {"schedule": {"kind": "step", "rate": 1.0, "warmup_epochs": 2.0, "milestones": [1.5]}},
            "base.schedule.milestones.0: the milestone at epoch 1.5 lies within the warm-up of 2 epochs",
        ),
        (
            {"schedule": {"kind": "constant", "rate": 1.0, "stages": [{"epoch": 30, "rate": 2.0}]}},
            "base.schedule.stages.0.epoch: the stage at epoch 30 is never reached: the run has 3 epochs",
        ),
        (
            {"schedule": {"kind": "cosine", "rate": 1.0, "end_rate": 2.0}},
            "base.schedule.end_rate: the rate would rise to 2, above the peak of 1",
        ),
        (
            {"schedule": {"kind": "cosine", "rate": 1.0, "end_rate": 0.75, "scaling": {"reference_batch": 128}}},
            "base.schedule.end_rate: the rate would rise to 0.75, above the peak of 0.5, scaled to the batch",
        ),
        (
            {"schedule": {"kind": "constant", "rate": 1.0, "scaling": {"reference_batch": 0}}},
            "base.schedule.scaling.reference_batch: input should be greater than or equal to 1",
        ),
        (
            {"model": {"kind": "alexnet"}},
            "base.model: alexnet needs images of at least 39 x 39 pixels; those of digits are 8 x 8",
        ),
        (
            {"model": {"kind": "googlenet"}, "data": {"kind": "synthetic", "height": 31, "width": 30}},
            "base.model: googlenet needs images of at least 31 x 31 pixels; those of synthetic are 31 x 30",
        ),
    ],
)
def test_a_misfit_is_named_with_its_field_and_sum(base: dict[str, Any], complaint: str) -> None:
    assert complaints(base) == [complaint]


def test_a_net_without_batch_normalization_takes_one_image_a_pass() -> None:
    lenet = {"model": {"kind": "lenet"}, "data": {"kind": "glyphs"}}
    run = RunSpec.model_validate({**BASE, **lenet, "batch": 12, "micro_batch": 1})
    assert (run.batch_per_rank, run.micro_batch) == (3, 1)
    assert RunSpec.model_validate({**BASE, **lenet, "batch": 4}).batch_per_rank == 1


def test_an_unknown_model_is_refused_with_those_there_are() -> None:
    (complaint,) = complaints({"model": {"kind": "resnet51"}})
    assert complaint.startswith("base.model:")
    assert "resnet51" in complaint
    assert "'convnet', 'lenet', 'alexnet'" in complaint


@pytest.mark.parametrize("ranks", [0, 129, 10**9])
def test_an_impossible_world_is_refused(ranks: int) -> None:
    (complaint,) = complaints({"resources": {"kind": "local", "ranks_per_node": ranks}})
    assert complaint.startswith("base.resources.ranks_per_node: input should be")


@pytest.mark.parametrize("word", ["gpu\n#SBATCH --uid=0", "a b", "$(id)", "`id`", "x'y"])
def test_a_word_for_sbatch_is_one_word(word: str) -> None:
    (complaint,) = complaints({"resources": {"kind": "slurm", "partition": word, "ranks_per_node": 4}})
    assert complaint.startswith("base.resources.partition:")


def test_every_bad_point_of_a_sweep_is_named() -> None:
    assert complaints({}, {"batch": [64, 7, 9], "seed": [0]}) == [
        "axes.batch: batch 7 does not divide over 4 ranks (point 1: batch=7, seed=0)",
        "axes.batch: batch 9 does not divide over 4 ranks (point 2: batch=9, seed=0)",
    ]


def test_a_sweep_of_a_million_points_is_refused_with_its_size() -> None:
    (complaint,) = complaints({}, {"seed": list(range(1000)), "batch": list(range(1000))})
    assert complaint == "axes: the grid has 1000 x 1000 = 1,000,000 points, more than the limit of 10,000"


@pytest.mark.parametrize(
    ("axes", "complaint"),
    [
        ({"optimiser.x": [1]}, "axes.optimiser.x: unknown field; did you mean 'optimizer'?"),
        ({"optimizer.momentun": [1]}, "axes.optimizer.momentun: unknown field"),
        ({"seed": [1, 1]}, "axes.seed: 1 is listed twice"),
        ({"seed": []}, "axes.seed: list should have at least 1 item"),
        ({"seed..x": [1]}, "axes.seed..x: 'seed..x' is not a dotted path"),
        (
            {"optimizer": [{"kind": "sgd"}], "optimizer.momentum": [0.1]},
            "axes.optimizer.momentum: the axis 'optimizer'",
        ),
    ],
)
def test_a_bad_axis_is_named(axes: dict[str, Any], complaint: str) -> None:
    assert complaints({}, axes)[0].startswith(complaint)


def test_an_issue_of_many_points_is_listed_once() -> None:
    assert complaints({}, {"optimiser": ["sgd"], "seed": [0, 1, 2]}) == [
        "axes.optimiser: unknown field; did you mean 'optimizer'?"
    ]
    assert complaints({}, {"optimizer.momentun": [0.1, 0.9], "seed": [0, 1, 2]}) == [
        "axes.optimizer.momentun: unknown field (point 0: optimizer.momentun=0.1, seed=0)"
    ]
    assert len(complaints({}, {"batch": [7, 9], "seed": [0, 1]})) == 2


def test_a_grid_has_every_combination_and_the_last_axis_turns_fastest() -> None:
    spec = read_experiment({"name": "x", "base": BASE, "axes": {"batch": [64, 128], "seed": [0, 1]}})
    assert [(run.batch, run.seed) for _, run in spec.points] == [(64, 0), (64, 1), (128, 0), (128, 1)]
    assert spec.points[1][0] == {"batch": 64, "seed": 1}


def test_a_run_survives_its_own_json() -> None:
    run = RunSpec.model_validate(BASE)
    assert RunSpec.model_validate_json(run.model_dump_json()) == run
    assert (run.batch_per_rank, run.batch_schedule.steps_in(0), run.steps) == (16, 22, 66)
