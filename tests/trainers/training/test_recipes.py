"""The papers' recipes have the papers' numbers of steps and rates, and each takes two steps in the engine."""

import math
import re
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from contract.folder.events import Points, event_reader
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from contract.spec.choices.collectives import Torus
from contract.spec.choices.optimizers import LARS, SGD
from contract.spec.choices.rules import Sync
from contract.spec.expanded import read_experiment
from contract.spec.grid.grid import Values
from contract.spec.run import RunSpec
from contract.yaml_reader import read_document
from scheduler.submit.dry_run import describe_submissions
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.reduced_recipe import RANKS, reduced
from trainers.build import schedules
from trainers.progress.reporter import Reporter
from trainers.ranks import rank_info
from trainers.training import engine

RECIPES = Path(__file__).parents[3] / "recipes"
IMAGENET = 1_281_167
STEPS = {  # of the whole run: E floor(n / B), batch by batch
    "goyal-8k": 90 * 156,
    "you-resnet50-32k": 90 * 39,
    "you-alexnet-bn-32k": 100 * 39,
    "firecaffe-googlenet": 72 * 1251,
    "firecaffe-nin": 47 * 1251,
    "sony-34k-68k": 30 * 36 + 60 * 18,
    "sony-54k": 90 * 23,
    "you-alexnet-8k": 100 * 156,
    "you-alexnet-16k": 100 * 78,
    "you-resnet50-v2-32k": 90 * 39,
    "kumar-resnet50": 90 * 156,
    "kumar-googlenet-bn": 90 * 156,
    "you-alexnet-bn-32k-cpus": 100 * 39,
}
OTHERS = ["gnmt-lars", "knl-16", "knl-weak-scaling"]
LARGE = ["knl-weak-scaling-vgg"]  # whose weights, gradients, momentum and center take 2.3 GB of each rank
SOURCES = (
    *("paper", "file", "solver", "recalled", "derived", "chosen here", "ImageNet-1k", "CIFAR-10", "Titan's", "Goyal"),
    *("et al.", "released", "MLPerf"),
)
NUMBER = re.compile(r"(?<![\w-])\d")


def points(name: str) -> list[tuple[Values, RunSpec]]:
    experiment = read_experiment(read_document((RECIPES / f"{name}.yaml").read_bytes()))
    return [(values, run) for values, run in experiment.points if isinstance(run, RunSpec)]


def recipe(name: str) -> RunSpec:
    ((_, run),) = points(name)
    return run


@pytest.mark.parametrize("name", STEPS)
def test_a_recipe_has_the_paper_s_number_of_steps_on_imagenet(name: str) -> None:
    run = recipe(name)
    assert run.data.train_samples == IMAGENET
    assert run.steps == STEPS[name]
    assert (RECIPES / f"{name}.yaml").read_text().count("arXiv:") >= 1


def test_sony_s_batches_are_16_and_32_images_for_each_of_2176_gpus_on_a_34_by_64_torus() -> None:
    run = recipe("sony-34k-68k")
    assert [run.batch_schedule.batch_in(epoch) for epoch in (0, 29, 30, 89)] == [16 * 2176] * 2 + [32 * 2176] * 2
    assert isinstance(run.collective, Torus)
    assert run.collective.rows == 34
    assert run.resources.world == 34 * 64


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("goyal-8k", {0: 0.1, 5: 3.2, 29: 3.2, 30: 0.32, 60: 0.032, 80: 0.0032}),
        ("you-resnet50-32k", {0: 0.0, 2.5: 1.45, 45: 2.9 / 4}),
        ("you-resnet50-v2-32k", {0: 0.0, 2.5: 1.45, 45: 2.9 / 4}),
        ("you-alexnet-bn-32k", {0: 1.0, 10: 22 * 0.9**2, 50: 5.5}),
        ("you-alexnet-8k", {0: 1.0, 50: 2.5}),
        ("you-alexnet-16k", {0: 1.0, 50: 3.5}),
        ("you-alexnet-bn-32k-cpus", {0: 1.0, 10: 32 * 0.9**2, 50: 8.0}),
        ("kumar-resnet50", {0: 0.1, 5: 3.2, 30: 0.32, 60: 0.032, 80: 0.0032}),
        ("kumar-googlenet-bn", {0: 0.1, 5: 3.2, 30: 0.32, 60: 0.032, 80: 0.0032}),
        ("firecaffe-googlenet", {0: 0.08, 54: 0.04}),
        ("firecaffe-nin", {0: 0.04, 21: 0.004, 42: 0.0004}),
        ("sony-34k-68k", {0: 0.2, 15: 29 * (75 / 90) ** 2, 30: 50 * (60 / 90) ** 2}),
        ("sony-54k", {0: 0.2, 15: 29 * (75 / 90) ** 2, 45: 29 / 4}),
    ],
)
def test_a_recipe_has_the_paper_s_learning_rates(name: str, rates: dict[float, float]) -> None:
    rate = schedules.build_schedule(recipe(name))
    assert {epoch: rate(epoch) for epoch in rates} == pytest.approx(rates, rel=1e-6)


@pytest.mark.parametrize("name", [*STEPS, *OTHERS, *LARGE])
def test_every_number_of_a_paper_s_recipe_has_its_source(name: str) -> None:
    head, _, base = (RECIPES / f"{name}.yaml").read_text().partition("\nbase:\n")
    assert "\n# Reproducible where: " in head, "what of it can be reproduced, and where"
    assert base
    for line in base.splitlines():
        value, _, comment = line.partition("  # ")
        if NUMBER.search(value.partition(": ")[2]):
            assert any(source in comment for source in SOURCES), line


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_recipe_has_a_dry_run(path: Path) -> None:
    spec = read_experiment(read_document(path.read_bytes()))
    assert len(list(describe_submissions(spec, Settings(home=Path("/h"))))) >= 1


@pytest.mark.parametrize(("name", "steps"), [("knl-weak-scaling", 300), ("knl-weak-scaling-vgg", 80)])
def test_weak_scaling_has_the_paper_s_cores_and_steps(name: str, steps: int) -> None:
    runs = [run for _, run in points(name)]
    cores = [run.resources.world * run.resources.rank_cpus for run in runs if run.resources.kind == "slurm"]
    assert cores == [68, 136, 272, 544, 1088, 2176, 4352]
    assert {run.steps for run in runs} == {steps}
    assert len({run.batch // run.resources.world for run in runs}) == 1


def test_the_recipes_have_the_papers_forms() -> None:
    for name in ("firecaffe-googlenet", "firecaffe-nin", "knl-16", "knl-weak-scaling", "knl-weak-scaling-vgg"):
        ((_, run), *_) = points(name)
        assert isinstance(run.optimizer, SGD)
        assert run.optimizer.form == "rate_inside"
    elastic = [run for _, run in points("easgd")]
    assert all(isinstance(run.optimizer, SGD) and run.optimizer.form == "rate_inside" for run in elastic)
    assert [run.optimizer.momentum for run in elastic].count(0.9) == 1  # MEASGD
    for name in ("sony-34k-68k", "sony-54k"):
        run = recipe(name)
        assert isinstance(run.optimizer, LARS)
        assert (run.optimizer.skip, run.channels_last) == ("none", True)
    assert recipe("goyal-8k").collective.kind == "hierarchical"


class Two:
    """Pauses a run after two steps, without saving it."""

    def __init__(self) -> None:
        self.steps = 0

    def before_step(self) -> None: ...

    def after_step(self) -> bool:
        self.steps += 1
        return self.steps == 2


def two_steps(path: str, spec: str) -> tuple[list[float], list[float], float, float]:
    """Take two steps; return rank 0's reported rates and losses, a sum over the weights, and a random number."""
    run, here = RunSpec.model_validate_json(spec), rank_info.local_rank_info(dist.get_rank(), RANKS)
    folder = RunFolder(Path(path))
    loop = engine.make_loop(run, here, device=torch.device("cpu"), report=Reporter(folder, 1, rank=here.rank))
    loop.coordinator = Two()
    drawn = torch.rand(1).item()
    before = [p.detach().clone() for p in loop.state.model.parameters()]
    assert not loop.train()
    after = list(loop.state.model.parameters())
    assert not all(torch.equal(p, q) for p, q in zip(before, after, strict=True))
    dist.barrier()
    reported = [
        event
        for line in folder.events.read_bytes().splitlines()
        if isinstance(event := event_reader.validate_json(line), Points)
    ]
    rates = [event.values["learning_rate"] or 0.0 for event in reported]
    losses = [event.values["loss"] or math.nan for event in reported]
    return rates, losses, sum(float(p.detach().double().abs().sum()) for p in after), drawn


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", [*STEPS, *OTHERS])
def test_a_recipe_takes_two_steps_on_two_ranks(name: str, tmp_path: Path) -> None:
    run = reduced(points(name)[0][1])
    first, second = on_ranks(RANKS, two_steps, str(tmp_path), run.model_dump_json())
    rates, losses, flatten_weights, drawn = first
    assert (rates, losses) == second[:2]
    assert (flatten_weights == second[2]) is isinstance(run.rule, Sync)  # elastic replicas differ
    assert drawn != second[3]
    rate = schedules.build_schedule(run)
    assert rates == pytest.approx([rate(0), rate(1 / run.batch_schedule.steps_in(0))])
    assert all(math.isfinite(loss) for loss in losses)
    assert len(losses) == 2
