"""The net of `infer`: of a checkpoint that an engine run saved, or the one that returns its input."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from contract.spec.run import RunSpec
from trainers.build.models import build_model
from trainers.checkpoints.checkpoint_directory import SHARED, CheckpointDirectory, DamagedCheckpoint, rank_part
from trainers.checkpoints.finite import listed, not_finite
from trainers.models.persistent_buffers import without_caches
from trainers.recovery.initial_weights import evaluated
from trainers.volume.blend import Floats, Net, return_input


class LoadedNet(NamedTuple):
    """A net, and the number of its output channels for a number of input channels."""

    apply: Net
    channels: int


def load_net(checkpoint: Path | None, *, channels: int, probabilities: bool, threads: int) -> LoadedNet:
    """Return the net of a checkpoint folder; raise ValueError if it cannot be had or takes other data.

    Patches go through the net one by one, because the bits of an output may depend on the size of a batch.
    """
    torch.set_num_threads(threads)
    if checkpoint is None:
        return LoadedNet(return_input, channels)
    run = _read_run(checkpoint)
    shape: list[int] = [*getattr(run.data, "shape", ())]
    classes: int | None = getattr(run.data, "classes", None)
    if len(shape) != 4 or shape[0] != channels or classes is None:
        raise ValueError(
            f"{checkpoint}: the net of {run.model.kind} on {run.data.kind} takes samples of {shape}, "
            f"not volumes with {channels} channels"
        )
    module = build_model(run).eval()
    module.load_state_dict(without_caches(_read_weights(checkpoint), module))

    def apply(x_CZYX: Floats) -> Floats:
        with torch.inference_mode():
            y_KZYX = module(torch.from_numpy(np.array(x_CZYX, np.float32))[None])[0]
            made: Floats = (torch.softmax(y_KZYX, 0) if probabilities else y_KZYX).numpy()
        return made

    return LoadedNet(apply, classes)


def _read_run(checkpoint: Path) -> RunSpec:
    path = checkpoint.parent.parent / "spec.json"
    try:
        return RunSpec.model_validate(json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise ValueError(f"{checkpoint} is no checkpoint of an engine run: {path}: {error}") from error


def _read_weights(checkpoint: Path) -> dict[str, torch.Tensor]:
    directory = CheckpointDirectory(checkpoint.parent, retained=1)
    try:
        manifest = directory.read_manifest(checkpoint.name)
        shared = directory.read_part(checkpoint.name, manifest, SHARED)
        buffers = directory.read_part(checkpoint.name, manifest, rank_part(0))["buffers"]
    except DamagedCheckpoint as damage:
        raise ValueError(f"the net cannot be read: {damage}") from damage
    weights = evaluated(shared["parameters"])
    if names := not_finite(weights):
        raise ValueError(f"{checkpoint}: the weights are not finite: {listed(names)}")
    return weights | evaluated(buffers)
