"""What the contract says of a replica's size is what the nets, the rules and the data sets hold."""

import gc
from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from contract.spec.checks.memory import data_bytes, vectors
from contract.spec.checks.model_size import size_of
from contract.spec.choices.data import Data
from contract.spec.choices.models import Model
from contract.spec.run import RunSpec
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.build import data as datasets
from trainers.build import models, optimizers, rules
from trainers.collectives.runners.native import allreduce

IMAGES = ["convnet", "lenet", "alexnet", "alexnet_bn", "nin", "googlenet", "resnet18", "resnet34", "resnet50"]
NETS: list[dict[str, Any]] = [
    *({"kind": kind} for kind in [*IMAGES, "resnet101", "resnet50_v2"]),
    {"kind": "convnet", "width": 7},
    {"kind": "alexnet", "groups": 1},
    {"kind": "googlenet", "aux_weight": 0.0},
]


def parsed(kind: Any, value: dict[str, Any]) -> Any:
    return TypeAdapter(kind).validate_python(value)


def consists_of(net: nn.Module) -> tuple[int, int]:
    kept = sum(buffer.numel() * buffer.element_size() for buffer in net.buffers())
    return sum(p.numel() for p in net.parameters()), kept


@pytest.mark.parametrize("model", NETS, ids=lambda model: "-".join(map(str, model.values())))
@pytest.mark.parametrize(("channels", "classes"), [(1, 10), (3, 1000)])
def test_a_net_s_size_is_known(model: dict[str, Any], channels: int, classes: int) -> None:
    choice: Model = parsed(Model, model)
    data: Data = parsed(Data, {"kind": "synthetic", "channels": channels, "classes": classes})
    with torch.device("meta"):
        assert size_of(choice, data) == consists_of(models.net(choice, channels, classes))


@pytest.mark.parametrize("model", [{}, {"units": 32, "layers": 2}, {"units": 48, "layers": 5}])
def test_a_translator_s_size_is_known(model: dict[str, Any]) -> None:
    choice: Model = parsed(Model, {"kind": "gnmt", **model})
    data: Data = parsed(Data, {"kind": "reversal", "vocabulary": 1000})
    with torch.device("meta"):
        assert size_of(choice, data) == consists_of(models.translator(choice, 1000))


@pytest.mark.parametrize("data", [{"kind": "digits"}, {"kind": "synthetic"}, {"kind": "synthetic", "channels": 1}])
def test_the_data_in_memory_are_as_many_bytes(data: dict[str, Any]) -> None:
    choice: Data = parsed(Data, data)
    splits = datasets.data(choice, 0)
    tensors = [value for split in splits for value in vars(split).values() if isinstance(value, Tensor)]
    x, y = splits[0].batch(torch.arange(32))
    assert isinstance(x, Tensor)
    batch = x.nbytes + y.nbytes
    assert data_bytes(choice, 32) == sum(storages(tensors).values()) + batch


def storages(tensors: list[Tensor]) -> dict[int, int]:
    return {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}


RULES: list[dict[str, Any]] = [
    {"kind": "sync"},
    *({"kind": "easgd", "variant": variant} for variant in ("original", "async", "sync1", "sync2", "sync3")),
    {"kind": "async_sgd"},
]


def held(spec: str) -> int:
    """Take three steps on this rank; return the most vectors that there were when it spoke, or after backward."""
    run = RunSpec.model_validate_json(spec)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 999, bias=False), nn.Linear(999, 10, bias=False))
    optimizer, most = optimizers.optimizer(run, model), 0
    weights = sum(p.numel() for p in model.parameters())

    def spy(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def spied(*told: Any) -> Any:
            nonlocal most
            said = function(*told)
            alive = [t for t in gc.get_objects() if type(t) in (Tensor, nn.Parameter)]
            alive += [t.grad for t in alive if t.is_leaf and t.grad is not None]
            # more than a batch and its activations, less than the room that a host's ranks share for their messages
            sizes = [size for size in storages(alive).values() if 4 * 9990 <= size <= 5 * weights]
            most = max(most, sum(sizes))
            return said

        return spied

    rule = rules.rule(run, model, optimizer, allreduce=allreduce, timed=spy)
    came = spy(lambda: None)
    for group in optimizer.param_groups:
        group["lr"] = 0.01
    for _ in range(3):
        rule.begin()
        loss = model(torch.randn(4, 64)).square().mean()
        rule.last_pass()
        loss.backward()
        came()
        rule.step(loss.detach())
    rule.settle()
    return round(most / (4 * weights))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.get("variant", rule["kind"]))
def test_a_rule_holds_as_many_vectors_as_are_counted(rule: dict[str, Any]) -> None:
    optimizer = {"kind": "sgd", "momentum": 0.9}
    run = RunSpec.model_validate(
        {
            "rule": rule,
            "optimizer": optimizer,
            "schedule": {"kind": "constant", "rate": 0.01},
            "batch": 64,
            "epochs": 1,
            "resources": {"kind": "local", "ranks_per_node": 2},
        }
    )
    own, center = vectors(run.rule, run.optimizer, world=2, averages=False)
    first, second = on_ranks(2, held, run.model_dump_json())
    assert second == own
    # a thread that serves may be making the difference that moves the center (trainers/rules/centers/center_update.py,
    # Towards)
    in_the_making = int(rule.get("variant") in ("original", "async"))
    assert first <= own + center + in_the_making
