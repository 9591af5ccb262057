"""The factors are divided nearly as well as they can be, on every net of the project."""

from math import inf

import pytest
import torch
from torch import nn

from benchmarks.kfac.residual_net import residual_net
from contract.spec.choices import models as choices
from contract.spec.choices.data import Text
from trainers.build.models import build_image_model, build_language_model, build_translation_model
from trainers.models.unet3d import UNet3D
from trainers.preconditioners.assignment import assign, holders, longest_first
from trainers.preconditioners.layers import find_layers
from trainers.preconditioners.shapes import BlockShape

RESIDUAL = "residual net of the benchmark"
NETS: dict[str, choices.Model | None] = {
    "convnet": choices.ConvNet(),
    "lenet": choices.LeNet(),
    "alexnet": choices.AlexNet(),
    "alexnet_bn": choices.AlexNetBN(),
    "nin": choices.NiN(),
    "googlenet": choices.GoogLeNet(),
    "googlenet_bn": choices.GoogLeNetBN(),
    "vgg16": choices.VGG(kind="vgg16"),
    "vgg19": choices.VGG(),
    "resnet18": choices.ResNet(kind="resnet18"),
    "resnet34": choices.ResNet(kind="resnet34"),
    "resnet50": choices.ResNet(kind="resnet50"),
    "resnet101": choices.ResNet(kind="resnet101"),
    "resnet50_v2": choices.ResNet50V2(),
    "gnmt": choices.GNMT(),
    "gpt": choices.GPT(),
    "gpt of 24 layers": choices.GPT(layers=24, width=1024, heads=16),
    "unet3d": choices.UNet3D(),
    RESIDUAL: None,
}
WORLDS = (2, 4, 8, 16, 64)


def blocks_of(name: str) -> list[BlockShape]:
    """Return the blocks of a net for its usual data, without memory for its weights."""
    with torch.device("meta"):
        net = build(NETS[name])
    return [block for layer in find_layers(net)[0] for block in layer.blocks]


def build(model: choices.Model | None) -> nn.Module:
    """Return a net for ImageNet, 32,000 words, bytes, volumes with two classes, or the benchmark's glyphs."""
    match model:
        case None:
            return residual_net(channels=1, classes=26)
        case choices.GNMT():
            return build_translation_model(model, 32_000)
        case choices.GPT():
            return build_language_model(model, Text())
        case choices.UNet3D():
            return UNet3D(1, 2, width=model.width, levels=model.levels)
    return build_image_model(model, 3, 1000)


def lower_bound(costs: list[int], machines: int) -> float:
    """Return a bound that no division beats: the mean load, the longest job, or two jobs that share a machine."""
    ordered = sorted(costs, reverse=True)
    shared = ordered[machines - 1] + ordered[machines] if len(ordered) > machines else 0
    return max(sum(ordered) / machines, ordered[0], shared)


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", NETS)
def test_the_busiest_rank_has_at_most_a_tenth_more_than_in_the_best_division(name: str) -> None:
    blocks = blocks_of(name)
    for world in WORLDS:
        chosen = assign(blocks, world=world, fraction=1.0)
        loads = dict.fromkeys(range(world), 0)
        for (number, side), rank in chosen.worker_of.items():
            loads[rank] += blocks[number].costs[side]
        costs = [cost for block in blocks for cost in block.costs if cost]
        best = max(lower_bound(costs, world), exact(costs, world))
        assert max(loads.values()) <= 1.1 * best, (world, max(loads.values()) / best)
        layers = longest_first([sum(block.costs) for block in blocks], world)
        busiest = max(sum(sum(b.costs) for b, of in zip(blocks, layers, strict=True) if of == r) for r in range(world))
        whole = [sum(block.costs) for block in blocks]
        assert busiest <= 1.1 * max(lower_bound(whole, world), exact(whole, world)), (world, "layer-wise")


def exact(costs: list[int], machines: int) -> float:
    """Return the best busiest load of few jobs by trying all divisions; 0 of many, for which the bound must do."""
    jobs = sorted(costs, reverse=True)
    if len(jobs) > 12 or machines > 4:
        return 0
    best = inf

    def place(job: int, loads: tuple[int, ...]) -> None:
        nonlocal best
        if max(loads) >= best:
            return
        if job == len(jobs):
            best = max(loads)
            return
        for machine in {load: number for number, load in enumerate(loads)}.values():
            place(job + 1, (*loads[:machine], loads[machine] + jobs[job], *loads[machine + 1 :]))

    place(0, (0,) * machines)
    return best


def test_the_grid_has_every_rank_once_and_a_holder_of_each_layer_in_every_row() -> None:
    blocks = blocks_of("resnet18")
    for world, fraction, g in ((12, 0.5, 6), (12, 0.4, 4), (12, 0.0, 1), (12, 1.0, 12), (7, 0.9, 1), (1, 0.0, 1)):
        chosen = assign(blocks, world=world, fraction=fraction)
        assert holders(world, fraction) == g == len(chosen.rows)
        for groups in (chosen.rows, chosen.columns):
            assert sorted(rank for group in groups for rank in group) == list(range(world))
        assert all(len({*row} & {*column}) == 1 for row in chosen.rows for column in chosen.columns)
        assert all(chosen.column(rank) == number for number, ranks in enumerate(chosen.columns) for rank in ranks)
        workers = [chosen.worker_of[number, side] for number in range(len(blocks)) for side in (0, 1)]
        assert all(chosen.column(worker) == chosen.column_of[number // 2] for number, worker in enumerate(workers)), (
            "a factor is decomposed where its inverse is used"
        )
