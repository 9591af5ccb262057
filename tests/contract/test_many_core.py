"""Tests of many-core partitions: requested resources, and the memory check of P replicas."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.checks.memory import GIB, ReplicaMemory, format_bytes
from contract.spec.checks.model_size import ModelSize
from contract.spec.expanded import read_experiment
from contract.spec.resources import Slurm
from contract.spec.run import RunSpec
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

ALEXNET: dict[str, Any] = {
    "model": {"kind": "alexnet", "groups": 1},
    "data": {"kind": "synthetic", "height": 64, "width": 64, "classes": 1000, "train_samples": 60_000},
    "optimizer": {"kind": "sgd", "momentum": 0.9},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 512,
    "epochs": 1,
}


def run(*, constraint: str | None = None, more: dict[str, Any] | None = None, **many_core: Any) -> RunSpec:
    resources = {"kind": "slurm", "constraint": constraint, "many_core": {"cpus": 68, **many_core}}
    return RunSpec.model_validate({**ALEXNET, "resources": resources, **(more or {})})


def refusals(**asked: Any) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        run(**asked)
    return [f"{issue.path}: {issue.message}" for issue in issues_of(caught.value)]


def slurm(spec: RunSpec) -> Slurm:
    assert isinstance(spec.resources, Slurm)
    return spec.resources


def test_parts_are_ranks_and_share_out_the_chip() -> None:
    need = slurm(run(parts=4, chips=2))
    assert (need.node_ranks, need.rank_cpus, need.world) == (8, 17, 8)


@pytest.mark.parametrize(
    ("asked", "features"),
    [
        ({"cluster_mode": "quad", "memory_mode": "flat", "constraint": "knl"}, "knl&quad&flat"),
        ({"cluster_mode": "snc4", "memory_mode": "cache"}, "snc4&cache"),
        ({"cluster_mode": "a2a"}, "a2a"),
        ({"memory_mode": "hybrid"}, "equal"),  # Slurm's word for half of MCDRAM as a cache
        ({"constraint": "knl|skx"}, "knl|skx"),
        ({}, None),
    ],
)
def test_modes_are_slurm_s_features(asked: dict[str, Any], features: str | None) -> None:
    assert slurm(run(**asked)).features == features


def test_parts_can_be_an_axis() -> None:
    base = {**ALEXNET, "resources": {"kind": "slurm", "many_core": {"cpus": 64}}}
    sweep = read_experiment({"name": "x", "base": base, "axes": {"resources.many_core.parts": [1, 4, 16]}})
    assert [(slurm(point).world, slurm(point).rank_cpus) for _, point in sweep.points] == [(1, 64), (4, 16), (16, 4)]


def test_the_paper_s_sixteen_parts_fit_and_its_thirty_two_do_not() -> None:
    """AlexNet of 249 MB and CIFAR of 687 MB: 16 parts are 15.0 GB of 16 GiB, 32 would be 30 (papers, 3.4)."""
    one = ReplicaMemory(ModelSize(62_378_344), vectors=1, center=0, data_bytes=687_000_000)
    assert one.total_bytes(16) == pytest.approx(15.0e9, rel=0.01)
    assert one.total_bytes(16) < 16 * GIB < one.total_bytes(32)


def test_parts_that_do_not_fit_are_refused_with_the_sum() -> None:
    """Weights, gradients, momentum and the packed gradients, 4 x 249.5 MB, and the data of one replica."""
    assert run(parts=16, memory_mode="flat").replica is not None
    assert refusals(parts=32, memory_mode="flat") == [
        "resources.many_core.parts: 32 parts do not fit 16 GiB of fast memory: "
        "32 x (4 vectors of 238 MiB + data 1.23 MiB) = 29.8 GiB"
    ]
    assert "16 parts do not fit 8 GiB" in refusals(parts=16, memory_mode="hybrid")[0]


def test_as_a_cache_it_is_nobody_s_and_a_stated_size_counts() -> None:
    run(parts=32, memory_mode="cache")
    run(parts=32)
    assert "32 parts do not fit 24.5 GiB" in refusals(parts=32, fast_memory_gb=24.5)[0]
    run(parts=32, memory_mode="flat", fast_memory_gb=32.0)


def test_a_center_and_an_average_count_as_well() -> None:
    plain = {"kind": "sgd", "momentum": 0.0}
    sizes = [
        run(parts=4, more={"optimizer": plain, "rule": rule, "ema_decay": average}).replica
        for rule, average in (({"kind": "sync"}, 0.9), ({"kind": "easgd"}, None), ({"kind": "async_sgd"}, None))
    ]
    assert [(one.vectors, one.center) for one in sizes if one] == [(4, 0), (5, 0), (5, 8)]
    served = sizes[2]
    assert served is not None
    assert served.describe(4).startswith("4 x (5 vectors of 238 MiB + data 6.48 MiB) + 8 vectors of the center = ")


def test_a_net_of_one_s_own_has_no_known_size_and_is_let_in() -> None:
    assert run(parts=32, memory_mode="flat", more={"model": {"kind": "import", "function": "a:b"}}).replica is None


def test_what_does_not_go_together_is_refused() -> None:
    assert refusals(parts=128) == ["resources.many_core.parts: 128 parts need one cpu each, but a chip has 68"]
    assert refusals(constraint="knl&snc4", cluster_mode="quad") == [
        "resources.constraint: the constraint requests snc4, but many_core.cluster_mode requests quad"
    ]
    [answer] = refusals(constraint="knl|skx", cluster_mode="quad")
    assert answer.startswith("resources.constraint: Slurm combines chip modes only with &")
    resources = {"kind": "slurm", "ranks_per_node": 4, "cpus_per_rank": 17, "many_core": {"cpus": 68, "parts": 4}}
    assert refusals(more={"resources": resources}) == [
        "resources.ranks_per_node: remove this field: with many_core a node has chips 1 x parts 4 = 4 ranks",
        "resources.cpus_per_rank: remove this field: with many_core a rank has 68 cpus / 4 parts",
    ]


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (1023 * 2**20, "1,023 MiB"), (GIB, "1 GiB")]
)
def test_bytes_in_words(size: float, words: str) -> None:
    assert format_bytes(size) == words
