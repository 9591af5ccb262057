"""A net that the engine cannot train is refused by a sentence before the first step, on one rank and on several."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from pydantic import ValidationError
from torch import Tensor, nn

from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.build.check_net import check_net
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import local_rank_info
from trainers.rules.flat_vector import PackedGradients
from trainers.training.engine import make_loop
from trainers.training.loop import TrainingLoop


def make(kind: str, channels: int = 1, classes: int = 10) -> nn.Module:
    """Return an own net for the digits."""
    torch.manual_seed(0)
    first, last = nn.Linear(64, 8), nn.Linear(8, classes)
    net = nn.Sequential(nn.Flatten(), first, nn.ReLU(), last)
    match kind:
        case "frozen":
            net.requires_grad_(False)
        case "without parameters":
            net = nn.Sequential(nn.Flatten())
        case "lazy":
            net[3] = nn.LazyLinear(classes)
        case "complex":
            last.extra = nn.Parameter(torch.zeros(2, dtype=torch.complex64))
        case "sparse":
            net.words = nn.Embedding(3, 2, sparse=True)
        case "types":
            last.double()
        case "norm":
            net = nn.Sequential(nn.Flatten(), first, nn.BatchNorm1d(8), last)
        case "norm of images":
            net = nn.Sequential(nn.BatchNorm2d(channels), *net)
        case "norm in evaluation":
            net = nn.Sequential(nn.Flatten(), first, nn.BatchNorm1d(8).eval(), last)
    return net


def spec(kind: str, world: int = 1, **fields: Any) -> RunSpec:
    function = f"{__name__}:make"
    return RunSpec.model_validate(
        {
            "model": {"kind": "import", "function": function, "options": {"kind": kind}},
            "optimizer": {"kind": "sgd"},
            "schedule": {"kind": "constant", "rate": 0.1},
            "batch": 6,
            "epochs": 1,
            "resources": {"kind": "local", "ranks_per_node": world},
            **fields,
        }
    )


def loop_of(run: RunSpec, path: str) -> TrainingLoop:
    rank = local_rank_info(dist.get_rank(), dist.get_world_size())
    folder = RunFolder(Path(path))
    os.makedirs(folder.path, exist_ok=True)
    return make_loop(run, rank, device=torch.device("cpu"), report=Reporter(folder, 1, rank=rank.rank))


ASYNC = {"rule": {"kind": "async_sgd"}}
EASGD = {"rule": {"kind": "easgd", "variant": "sync3"}}
TYPES = "the parameters 1.weight and 3.weight have the types torch.float32 and torch.float64, and the rule "
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("frozen", {}, "every parameter of the net is frozen, so there is nothing to train"),
    ("without parameters", {}, "the net has no parameter, so there is nothing to train"),
    (
        "lazy",
        {},
        "the parameter 3.weight has no size before the first input of 3: give the layer its sizes, or run the",
    ),
    ("complex", {}, "the parameter 3.extra is complex (torch.complex64), and the engine trains real numbers alone"),
    (
        "sparse",
        {},
        "the embedding words has sparse gradients, and the engine needs dense ones: set its sparse to False",
    ),
    ("types", ASYNC, f"{TYPES}async_sgd exchanges all weights as one vector"),
    ("types", EASGD, f"{TYPES}easgd exchanges all weights as one vector"),
]


def refusals(path: str) -> list[str]:
    found = []
    for number, (kind, fields, _) in enumerate(REFUSED):
        try:
            loop_of(spec(kind, dist.get_world_size(), **fields), os.path.join(path, str(number)))
        except ValueError as error:
            found.append(str(error))
        else:
            found.append("no error")
    return found


@pytest.mark.parametrize("world", [1, 2, 3])
def test_a_net_that_cannot_be_trained_is_refused_by_a_sentence(world: int, tmp_path: Path) -> None:
    for of_rank in on_ranks(world, refusals, str(tmp_path)):
        for message, (*_, expected) in zip(of_rank, REFUSED, strict=True):
            assert message.startswith(expected)


def test_a_frozen_net_can_be_evaluated_and_types_may_differ_under_sync() -> None:
    weights = {"run": 12}
    check_net(spec("frozen", evaluate_only=True, initial_weights=weights), make("frozen"))
    check_net(spec("types"), make("types"))


def test_a_frozen_embedding_may_be_sparse_since_it_has_no_gradient() -> None:
    frozen = nn.Embedding.from_pretrained(torch.ones(3, 2), sparse=True)
    check_net(spec("types"), nn.Sequential(frozen, nn.Linear(2, 2)))


def take_a_step(kind: str, fields: dict[str, Any], path: str) -> str:
    """Return the message of the error in the first step, if there is one."""
    loop = loop_of(spec(kind, dist.get_world_size(), **fields), path)
    at = loop.run.batch_schedule.position(0)
    try:
        loop.take_step(loop.feed.epoch_batches(at), at)
    except ValueError as error:
        return str(error)
    finally:
        loop.metrics.close()
        loop.feed.close()
    return ""


ONE = "the batch normalization 2 has one value per channel: batch"
LAST = "batch normalization needs at least 2"


@pytest.mark.parametrize(
    ("kind", "world", "fields", "message"),
    [
        ("norm", 1, {"batch": 1}, f"{ONE} 1 over 1 ranks is 1 sample per rank; {LAST}"),
        ("norm", 2, {"batch": 2}, f"{ONE} 2 over 2 ranks is 1 sample per rank; {LAST}"),
        (
            "norm",
            3,
            {"batch": 9, "micro_batch": 2},
            f"{ONE} 9 over 3 ranks is 3 samples per rank, and in passes of 2 one pass has only 1; {LAST}",
        ),
        ("norm", 2, {"batch": 2, "batch_norm": {"group": 2}}, ""),
        ("norm", 2, {"batch": 4}, ""),
        ("norm of images", 2, {"batch": 2}, ""),
        ("norm in evaluation", 2, {"batch": 2}, ""),
        ("no norm", 1, {"batch": 1}, ""),
        ("no norm", 2, {"batch": 2}, ""),
        ("no norm", 3, {"batch": 9, "micro_batch": 1}, ""),
    ],
)
def test_one_sample_per_pass_is_refused_where_a_normalization_would_get_one_value(
    kind: str, world: int, fields: dict[str, Any], message: str, tmp_path: Path
) -> None:
    assert on_ranks(world, take_a_step, kind, fields, str(tmp_path)) == [message] * world


def test_a_net_of_the_engine_with_batch_normalization_is_refused_at_submission() -> None:
    with pytest.raises(ValidationError, match="batch 2 over 2 ranks is 1 sample per rank; batch normalization needs"):
        spec("", 2, model={"kind": "convnet"}, batch=2)


def test_a_sparse_gradient_of_a_function_is_refused_by_a_sentence() -> None:
    weight = nn.Parameter(torch.ones(3, 2))
    output: Tensor = nn.functional.embedding(torch.tensor([1]), weight, sparse=True)
    torch.autograd.backward(output.sum())
    packed = PackedGradients([weight])
    with pytest.raises(ValueError, match=r"a gradient of shape \(3, 2\) has the layout torch.sparse_coo; the engine"):
        packed.gather(1.0)
