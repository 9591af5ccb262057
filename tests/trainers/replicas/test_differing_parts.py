"""Parts of a user that draw: alike on all ranks if the engine can seed them, else the run ends with the reason."""

from pathlib import Path
from typing import Any

import pytest

from contract.folder.events import Failed, Finished
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from tests.testing.trainers.attempts import attempt, curve
from tests.testing.trainers.jobs import events, prepare
from trainers.checkpoints.checkpoint_directory import CheckpointDirectory

HERE = "tests.testing.trainers.drawn_parts"
SPEC: dict[str, Any] = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 12,
    "epochs": 1,
    "collective": {"kind": "native"},
    "checkpoint": {"every_steps": 2},
}


def own(name: str, **options: Any) -> dict[str, Any]:
    return {"kind": "import", "function": f"{HERE}:{name}", "options": options}


def data_of(name: str, **options: Any) -> dict[str, Any]:
    return own(name, **options) | {"shape": [1, 8, 8], "classes": 4, "train_samples": 48, "heldout_samples": 16}


def run(path: Path, world: int, **choices: Any) -> RunFolder:
    parts = {"data": data_of("split_by", source="torch"), "model": own("net")}
    return prepare(path, **{**SPEC, **parts, **choices}, resources={"kind": "local", "ranks_per_node": world})


def failure(folder: RunFolder) -> Failed:
    return next(event for event in reversed(events(folder)) if isinstance(event, Failed))


def checkpoints(folder: RunFolder) -> list[str]:
    return CheckpointDirectory(folder.checkpoints, retained=9).list_complete()


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 1, 3])
@pytest.mark.parametrize("source", ["numpy", "python", "torch"])
def test_a_random_division_net_and_optimizer_are_alike_on_all_ranks_and_in_each_start(
    world: int, source: str, tmp_path: Path
) -> None:
    choices = {
        "data": data_of("split_by", source=source),
        "model": own("net", draw=source),
        "optimizer": own("NoisySGD", noise=source),
    }
    first, second = (run(tmp_path / name, world, **choices) for name in ("first", "second"))
    assert attempt(first, 1) == [0] * world
    assert attempt(second, 1) == [0] * world
    assert curve(first) == curve(second)
    assert isinstance(events(first)[-1], Finished)


UNSEEDED = {"data": data_of("split_by", source="unseeded")}
BUFFER = {"model": own("net", buffer="power", per_rank=True)}


@pytest.mark.parametrize(
    ("world", "choices", "expected"),
    [
        (2, {"model": own("net", draw="urandom")}, "the replicas differ before the first step in the weights `fc.w"),
        (3, {"model": own("net", draw="unseeded")}, "the weights `fc.weight`: each rank has another value"),
        (2, {"model": own("half_frozen")}, "requires_grad of the weights `fc.bias`: rank 0 has True, rank 1 has False"),
        (3, UNSEEDED, "the data of the ranks differ before the first step in the labels of the training set (1 more"),
        (
            3,
            {"optimizer": own("NoisySGD", noise="rank")},
            "after step 2 in the weights `fc.weight` (1 more differ)",
        ),
        (2, {"optimizer": own("RankState")}, "the optimizer's `seen` of `fc.weight` (1 more differ): rank 0 has one"),
        (2, BUFFER, "in the buffer `power`: rank 0 has one value, rank 1 another. The net must change a buffer alike"),
    ],
)
def test_what_the_engine_cannot_make_alike_ends_the_run_with_its_name_and_no_checkpoint(
    world: int, choices: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    folder = run(tmp_path, world, **choices)
    assert attempt(folder, 1) == [1] * world
    assert expected in failure(folder).reason
    assert checkpoints(folder) == []
    assert failure(folder).failure is FailureKind.PYTHON_ERROR, "the service would try again after a node's failure"


def test_replicas_that_differ_after_the_last_checkpoint_end_the_run_at_its_end(tmp_path: Path) -> None:
    folder = run(tmp_path, 2, optimizer=own("NoisySGD", noise="rank"), checkpoint={})
    assert attempt(folder, 1) == [1, 1]
    assert "differ after step 4 in the weights" in failure(folder).reason
    assert "compare_replicas: false" in failure(folder).reason


def test_a_run_without_comparisons_of_replicas_compares_the_data_all_the_same(tmp_path: Path) -> None:
    choices = {"optimizer": own("NoisySGD", noise="rank"), "compare_replicas": False}
    assert attempt(run(tmp_path / "net", 2, **choices), 1) == [0, 0]
    folder = run(tmp_path / "data", 2, data=data_of("split_by", source="unseeded"), **choices)
    assert attempt(folder, 1) == [1, 1]
    assert "the labels of the training set" in failure(folder).reason


@pytest.mark.parametrize(
    "options",
    [
        {"buffer": "counted"},
        {"buffer": "running_power", "per_rank": True},
        {"buffer": "power", "per_rank": True, "persistent": False},
    ],
)
def test_equal_buffers_and_those_that_differ_on_purpose_end_no_run(options: dict[str, Any], tmp_path: Path) -> None:
    assert attempt(run(tmp_path, 2, model=own("net", **options)), 1) == [0, 0]


def test_batch_norm_and_an_average_of_the_weights_end_no_run(tmp_path: Path) -> None:
    choices = {"data": {"kind": "digits"}, "batch": 256, "ema_decay": 0.9, "optimizer": {"kind": "adamw"}}
    assert attempt(run(tmp_path, 2, **choices), 1, net="dropout") == [0, 0]


@pytest.mark.parametrize("rule", [{"kind": "easgd", "rho": 0.1, "variant": "sync2"}, {"kind": "async_sgd"}])
def test_replicas_that_train_apart_are_compared_before_the_first_step_alone(
    rule: dict[str, Any], tmp_path: Path
) -> None:
    assert attempt(run(tmp_path / "equal", 2, rule=rule), 1) == [0, 0]
    folder = run(tmp_path / "others", 2, rule=rule, model=own("net", draw="urandom"))
    assert attempt(folder, 1) == [1, 1]
    assert "before the first step in the weights `fc.weight`" in failure(folder).reason
