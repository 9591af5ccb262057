"""Volumes through the engine: drawn bodies, a U-Net that finds them, and the net of its checkpoint on a volume."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from contract.folder.events import Points
from contract.spec.run import RunSpec
from contract.validation import issues_of
from tests.testing.trainers.jobs import events, finish, prepare, start
from tests.testing.trainers.volumes import SHAPE
from trainers.build.models import build_model
from trainers.checkpoints.checkpoint_directory import SHARED, CheckpointDirectory, Manifest, PartState, rank_part
from trainers.data.sources.bodies import NOISE, bodies, draw_bodies
from trainers.models.unet3d import UNet3D
from trainers.tasks import Segmentation
from trainers.volume.work.net import load_net

BODIES = {"kind": "bodies", "edge": 12, "train_samples": 64, "heldout_samples": 16}
KFAC = {"kind": "kfac", "factor_every": 1, "inverse_every": 4, "damping": 0.03, "variant": "layer_wise"}
TINY = {"kind": "unet3d", "width": 4, "levels": 2}


def spec(**choices: Any) -> RunSpec:
    base = {
        "model": TINY,
        "data": BODIES,
        "optimizer": {"kind": "adam"},
        "schedule": {"kind": "constant", "rate": 0.01},
        "batch": 8,
        "epochs": 4,
    }
    return RunSpec.model_validate({**base, **choices})


def test_a_volume_depends_on_its_seed_alone_and_the_splits_share_none() -> None:
    train, heldout = bodies(8, train_samples=5, heldout_samples=3, seed=1)
    x_BCZYX, y_BZYX = train.batch(torch.tensor([4, 0]))
    assert torch.equal(train.batch(torch.tensor([0]))[0][0], x_BCZYX[1])
    assert torch.equal(heldout.batch(torch.tensor([0]))[0][0, 0], torch.from_numpy(draw_bodies((8, 8, 8), 1, 5)[0]))
    assert (x_BCZYX.shape, y_BZYX.shape, y_BZYX.dtype) == ((2, 1, 8, 8, 8), (2, 8, 8, 8), torch.int64)


def test_a_body_is_bright_and_its_class_is_inside() -> None:
    x_ZYX, inside_ZYX = draw_bodies((40, 40, 40), 0)
    assert 0.03 < inside_ZYX.mean() < 0.3
    assert x_ZYX[inside_ZYX].mean() == pytest.approx(1, abs=0.05)
    assert (x_ZYX - inside_ZYX).std() == pytest.approx(NOISE, rel=0.05)


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 8, 9), (16, 4, 5)])
def test_a_net_returns_a_class_for_each_voxel_of_any_shape(shape: tuple[int, int, int]) -> None:
    torch.manual_seed(0)
    assert UNet3D(2, 3, width=2, levels=3)(torch.randn(2, 2, *shape)).shape == (2, 3, *shape)


def test_held_out_figures_are_means_over_voxels() -> None:
    logits = torch.zeros(2, 2, 3, 3, 3)
    logits[:, 1] = math.log(3)
    y_BZYX = torch.zeros(2, 3, 3, 3, dtype=torch.int64)
    y_BZYX[0] = 1
    loss, correct, count = Segmentation().tally(logits, y_BZYX).tolist()
    assert (correct, count) == (27, 54)
    assert loss == pytest.approx(27 * -math.log(0.75) + 27 * -math.log(0.25))


@pytest.mark.ring("all")
def test_the_engine_trains_a_net_whose_checkpoint_finds_bodies_in_a_volume(tmp_path: Path) -> None:
    changes = {
        "checkpoint": {"at_end": True},
        "epochs": 10,
        "resources": {"kind": "local", "ranks_per_node": 2},
        "collective": {"kind": "native"},
    }
    folder = prepare(
        tmp_path, **spec().model_dump(include={"model", "data", "optimizer", "schedule", "batch"}), **changes
    )
    code, errors = finish(start(folder))
    assert code == 0, errors
    values = [event.values for event in events(folder) if isinstance(event, Points)]
    accuracy = [one["heldout_accuracy"] for one in values if "heldout_accuracy" in one]
    assert accuracy[-1]
    assert 0.9 < accuracy[-1] <= 1

    (checkpoint,) = (path for path in folder.checkpoints.iterdir() if path.is_dir())
    net = load_net(checkpoint, channels=1, probabilities=True, threads=1)
    x_ZYX, inside_ZYX = draw_bodies(SHAPE, 9)
    y_KZYX = net.apply(x_ZYX[None])
    assert net.channels == 2
    assert np.abs(y_KZYX.sum(axis=0) - 1).max() < 1e-6
    found_ZYX = y_KZYX[1] >= 0.5
    assert (found_ZYX == inside_ZYX).mean() > 0.9
    assert (found_ZYX == inside_ZYX).mean() > ((x_ZYX >= 0.5) == inside_ZYX).mean() + 0.05


def test_a_net_whose_weights_are_not_finite_finds_nothing_and_is_refused(tmp_path: Path) -> None:
    """As a checkpoint of an earlier version may have them."""
    folder = prepare(tmp_path, **spec().model_dump(include={"model", "data", "optimizer", "schedule", "batch"}))
    directory = CheckpointDirectory(folder.checkpoints, retained=1)
    parameters = {f"model.{name}": p.detach() for name, p in build_model(spec()).named_parameters()}
    first = next(iter(parameters))
    parameters[first][0] = math.nan
    parts: dict[str, PartState] = {SHARED: {"parameters": parameters}, rank_part(0): {"buffers": {}}}
    sums = {part: directory.write_part(3, 1, part, state) for part, state in parts.items()}
    directory.write_manifest(Manifest(3, 1, 1, {}, sums))
    with pytest.raises(ValueError, match=f"the weights are not finite: {first.removeprefix('model.')}"):
        load_net(directory.folder(3, 1), channels=1, probabilities=True, threads=1)


@pytest.mark.ring("all")
def test_a_net_for_volumes_trains_with_kfac(tmp_path: Path) -> None:
    """Two ranks that divide the inverses learn more in four epochs than how frequent each class is."""
    changes = {
        "optimizer": {"kind": "sgd", "momentum": 0.9},
        "preconditioner": KFAC,
        "schedule": {"kind": "constant", "rate": 0.02},
        "resources": {"kind": "local", "ranks_per_node": 2},
        "collective": {"kind": "native"},
    }
    folder = prepare(tmp_path, **spec().model_dump(include={"model", "data", "batch", "epochs"}) | changes)
    code, errors = finish(start(folder))
    assert code == 0, errors
    values = [event.values for event in events(folder) if isinstance(event, Points)]
    losses = [one["heldout_loss"] for one in values if "heldout_loss" in one]
    frequency = bodies(12, train_samples=64, heldout_samples=16, seed=0)[1].batch(torch.arange(16))[1].double().mean()
    entropy = float(-frequency * frequency.log() - (1 - frequency) * (1 - frequency).log())
    assert (losses[-1] or math.inf) < 0.75 * entropy


@pytest.mark.parametrize(
    ("choices", "path", "message"),
    [
        ({"data": {"kind": "digits"}}, "model", "unet3d needs volumes, but digits has images"),
        ({"model": {"kind": "lenet"}}, "model", "lenet needs images, but bodies has volumes"),
        ({"channels_last": True}, "channels_last", "the samples of bodies are volumes, and not images"),
    ],
)
def test_a_net_and_data_that_do_not_fit_are_refused(choices: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        spec(**choices)
    (fault,) = issues_of(caught.value)
    assert (fault.path, fault.message) == (path, message)
