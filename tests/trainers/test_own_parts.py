"""Runs with a user's own parts: trained, resumed to the bit, and refused with a reason where a part is not sound."""

import math
import pickle
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from contract.folder.events import Finished
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from tests.testing.trainers.attempts import Signal, attempt, curve
from tests.testing.trainers.jobs import events, prepare
from trainers.build.data import build_data
from trainers.build.losses import build_loss
from trainers.build.optimizers import build_optimizer
from trainers.build.schedules import build_schedule
from trainers.build.tasks import build_metrics, build_task
from trainers.data.loader import load
from trainers.data.split import StagedSplit

KILL = signal.SIGKILL
HERE = "tests.testing.trainers.own_parts"


def own(name: str, **options: Any) -> dict[str, Any]:
    return {"kind": "import", "function": f"{HERE}:{name}", "options": options}


SPOTS = own("spots") | {"shape": [1, 8, 8], "classes": 4, "train_samples": 64, "heldout_samples": 10}
POINTS = own("points") | {"shape": [5], "train_samples": 64, "heldout_samples": 8}
ALL: dict[str, Any] = {
    "data": SPOTS,
    "optimizer": own("SignMomentum", momentum=0.8) | {"no_weight_decay": "bias_and_norm"},
    "schedule": own("falling", peak=0.02),
    "loss": own("focal", gamma=1.5),
    "augmentation": own("shift"),
    "metrics": {"top2": own("top"), "top4": own("top", k=4)},
    "batch": 16,
    "epochs": 3,
    "collective": {"kind": "native"},
    "resources": {"kind": "local", "ranks_per_node": 2},
    "checkpoint": {"every_steps": 2},
}
STEPS = 12


def a_run(**choices: Any) -> RunSpec:
    plain = {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 0.1}, "batch": 8, "epochs": 2}
    return RunSpec.model_validate({**plain, **choices})


@pytest.mark.ring("all")
@pytest.mark.parametrize("workers", [0, 1])
def test_a_killed_run_of_own_parts_has_the_losses_of_an_uninterrupted_run(workers: int, tmp_path: Path) -> None:
    """SIGKILL to rank 0 twice, between checkpoints; every part draws or stores something."""
    choices = {**ALL, "data": {**SPOTS, "workers": workers}}
    whole = prepare(tmp_path / "whole", **choices)
    assert attempt(whole, 1) == [0, 0]
    killed = prepare(tmp_path / "killed", **choices)
    for number, step in enumerate([3, 7], start=1):
        assert attempt(killed, number, blow=Signal(KILL, after=step))[0] == -KILL
    assert attempt(killed, 3) == [0, 0]
    assert list(curve(killed)) == list(range(1, STEPS + 1))
    for name in ("loss", "learning_rate", "heldout_loss", "heldout_accuracy", "top2", "top4"):
        assert curve(killed, name) == curve(whole, name)
    assert curve(whole, "top4") == {4: 1.0, 8: 1.0, 12: 1.0}
    assert isinstance(events(killed)[-1], Finished)


@pytest.mark.ring("all")
def test_a_run_without_classes_has_a_held_out_loss_and_no_accuracy(tmp_path: Path) -> None:
    choices = {"model": own("line"), "data": POINTS, "loss": own("squares"), "optimizer": {"kind": "adamw"}}
    folder: RunFolder = prepare(tmp_path, **{**ALL, "metrics": {}, "augmentation": None, **choices})
    assert attempt(folder, 1) == [0, 0]
    assert list(curve(folder, "heldout_loss")) == [4, 8, 12]
    assert curve(folder, "heldout_accuracy") == {}


def test_torch_s_own_classes_are_parts_by_their_names() -> None:
    net = nn.Linear(4, 4)
    run = a_run(
        optimizer={"kind": "import", "function": "torch.optim:RMSprop", "options": {"alpha": 0.9, "momentum": 0.5}},
        loss={"kind": "import", "function": "torch.nn:CrossEntropyLoss", "options": {"label_smoothing": 0.5}},
    )
    built = build_optimizer(run, net)
    assert isinstance(built, torch.optim.RMSprop)
    assert [group["alpha"] for group in built.param_groups] == [0.9]
    smooth = nn.CrossEntropyLoss(label_smoothing=0.5)
    output, target = torch.randn(3, 4), torch.tensor([0, 1, 2])
    assert torch.equal(build_loss(run, net)(output, target), smooth(output, target))


def test_an_exempt_parameter_of_an_own_optimizer_has_no_decay() -> None:
    built = build_optimizer(a_run(optimizer=ALL["optimizer"]), nn.Linear(4, 4))
    assert [(len(group["params"]), group["weight_decay"]) for group in built.param_groups] == [(1, 0.1), (1, 0.0)]


def test_the_held_out_metrics_are_means_over_all_samples() -> None:
    metrics = build_metrics(a_run(metrics={"top1": own("top", k=1)}))
    logits = torch.eye(4)
    sums = metrics.tally(logits, torch.tensor([0, 1, 2, 0])) + metrics.tally(logits[:1], torch.tensor([3]))
    assert metrics.means(sums.tolist()) == {"top1": pytest.approx(3 / 5)}


def test_an_output_that_is_nan_is_no_class_although_the_loss_hides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{HERE}.squares", lambda: lambda output, target: output.nan_to_num().mean())
    task = build_task(a_run(loss=own("squares")), torch.device("cpu"))
    logits, target = torch.eye(4), torch.arange(4)
    assert task.tally(logits, target).tolist() == [1.0, 4.0, 4.0]
    logits[2, 0] = math.nan
    assert math.isnan(task.tally(logits, target)[0])


def test_a_sample_is_the_same_on_every_rank_and_in_a_loader_process_and_differs_between_epochs() -> None:
    run = a_run(data=SPOTS, augmentation=own("shift"))
    train, _ = build_data(run.data, run.seed, augmentation=run.augmentation)
    assert isinstance(train, StagedSplit)
    before = torch.get_rng_state()
    first, again, second = (
        train.stage(epoch, lambda ranks: torch.arange(2).view(1, 2)).batch(torch.tensor(index))[0]
        for epoch, index in ((0, [3, 5]), (0, [5, 3]), (1, [3, 5]))
    )
    assert isinstance(first, Tensor)
    assert isinstance(again, Tensor)
    assert torch.equal(first, again.flip(0))
    assert not torch.equal(first, second)  # type: ignore[arg-type]
    assert torch.equal(torch.get_rng_state(), before), "the rank's own generator must not move"
    loaded = next(load(train.stage(0, lambda ranks: torch.arange(2).view(1, 2)), [torch.tensor([3, 5])], workers=1))
    assert torch.equal(loaded[0], first)  # type: ignore[arg-type]


def test_a_split_with_an_own_augmentation_can_be_sent_to_a_loader_process_after_its_first_use() -> None:
    """Forces a local function, which cannot be pickled, into the split."""
    run = a_run(augmentation=own("shift"))
    train, _ = build_data(run.data, run.seed, augmentation=run.augmentation)
    train.batch(torch.tensor([0]))
    x_B, _ = pickle.loads(pickle.dumps(train)).batch(torch.tensor([0]))
    assert torch.equal(x_B, train.batch(torch.tensor([0]))[0])  # type: ignore[arg-type]


def data_of(**fields: Any) -> Callable[[], object]:
    return lambda: build_data(a_run(data={**SPOTS, **fields}).data, 0)


def augmented(value: str) -> None:
    run = a_run(augmentation=own("returning", value=value))
    build_data(run.data, 0, augmentation=run.augmentation)[0].batch(torch.tensor([0]))


NET = nn.Linear(4, 4)


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (data_of(train_samples=60), ValueError, "the training set of .* has 64 samples, and the spec states 60"),
        (data_of(heldout_samples=60), ValueError, "the held-out set of .* has 10 samples, and the spec states 60"),
        (data_of(shape=[3, 8, 8]), ValueError, r"has the shape \[1, 8, 8\], and the spec states \[3, 8, 8\]"),
        (data_of(function=f"{HERE}:returning", options={}), TypeError, "returned a function, not a pair of data sets"),
        (data_of(function="builtins:int", options={}), TypeError, "an int, not a pair of data sets"),
        (data_of(function="builtins:dict", options={"a": 1, "b": 2}), TypeError, "a dict, not a pair of data sets"),
        (data_of(function="tests.testing.trainers.own_parts:HERE"), ValueError, "own_parts.py has no 'HERE'"),
        (data_of(function="math:pi", options={}), TypeError, "math:pi is a float, not a function or class"),
        (
            lambda: build_optimizer(a_run(optimizer=own("returning")), NET),
            TypeError,
            "own_parts:returning returned a function, not a torch.optim.Optimizer",
        ),
        (
            lambda: build_schedule(a_run(schedule=own("line", shape=[2], classes=None)))(0.0),
            TypeError,
            "unexpected keyword argument 'epochs'",
        ),
        (
            lambda: build_loss(a_run(loss={"kind": "import", "function": "torch:eye", "options": {"n": 2}}), NET),
            TypeError,
            "torch:eye returned a Tensor, not a function",
        ),
        (
            lambda: build_loss(a_run(loss=own("line", shape=[2], classes=None)), NET),
            ValueError,
            "the loss of .* has the parameter weight: put it into the model",
        ),
        (
            lambda: build_loss(a_run(loss=own("returning", value=3.0)), NET)(torch.eye(4), torch.arange(4)),
            TypeError,
            "returned a float, not a scalar tensor: the mean over the batch",
        ),
        (
            lambda: build_task(a_run(loss=own("returning")), torch.device("cpu")).tally(torch.eye(4), torch.arange(4)),
            TypeError,
            "returned a NoneType, not a scalar tensor",
        ),
        (
            lambda: build_metrics(a_run(metrics={"mine": own("returning", value="x")})).tally(NET, torch.eye(4)),
            TypeError,
            "the metric mine returned a str, not a number",
        ),
        (lambda: augmented("x"), TypeError, "own_parts:returning returned a str, not a tensor"),
    ],
)
def test_a_part_that_is_not_sound_is_named(use: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        use()


@pytest.mark.parametrize("rate", [-0.1, math.nan, math.inf, "fast"])
def test_a_rate_that_is_no_number_of_at_least_0_is_named(rate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{HERE}.falling", lambda epochs: lambda epoch: rate)
    with pytest.raises((TypeError, ValueError), match=r"the schedule of .*falling returned .* at epoch 0.5"):
        build_schedule(a_run(schedule=own("falling")))(0.5)


def test_an_optimizer_that_leaves_a_parameter_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{HERE}.SignMomentum", lambda groups: torch.optim.SGD(groups[0]["params"][:1], lr=0.1))
    with pytest.raises(ValueError, match=r"the optimizer of .*:SignMomentum has no bias"):
        build_optimizer(a_run(optimizer=own("SignMomentum")), NET)


def test_samples_that_are_no_pairs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{HERE}.spots", lambda: ([{"x": 1}] * 64, [{"x": 1}] * 10))
    with pytest.raises(TypeError, match=r"sample 0 of the training set of .* is a dict, not a pair \(input, target\)"):
        build_data(a_run(data={**SPOTS}).data, 0)
