"""Initial weights: a run starts from the weights that another run evaluates, as its checkpoint has them."""

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from contract.spec.checkpoint import InitialWeights
from trainers.checkpoints.checkpoint_directory import SHARED, CheckpointDirectory, DamagedCheckpoint, rank_part
from trainers.training.state import TrainingState

AVERAGE, MODEL = "average.", "model."  # prefixes of names in a checkpoint


def load_initial_weights(weights: InitialWeights, state: TrainingState, *, rank: int, world: int) -> None:
    """Load the weights, and the buffers of the same rank, or their mean if there were more or fewer ranks.

    Raise ValueError if they cannot be had.
    """
    assert weights.folder is not None, "the service resolves the run at its submission"
    assert weights.checkpoint is not None
    directory = CheckpointDirectory(Path(weights.folder) / "checkpoints", retained=1)
    try:
        manifest = directory.read_manifest(weights.checkpoint)
        shared = directory.read_part(weights.checkpoint, manifest, SHARED)
        ranks = [rank] if manifest.world == world else range(manifest.world)
        parts = [directory.read_part(weights.checkpoint, manifest, rank_part(one)) for one in ranks]
    except DamagedCheckpoint as damage:
        raise ValueError(f"the initial weights of run {weights.run} cannot be read: {damage}") from damage
    state.start_from(evaluated(shared["parameters"]), [evaluated(part["buffers"]) for part in parts])


def evaluated(saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors of the net that the run evaluates, by their names in it: of the average if there is one."""
    prefix = AVERAGE if any(name.startswith(AVERAGE) for name in saved) else MODEL
    return {name.removeprefix(prefix): tensor for name, tensor in saved.items() if name.startswith(prefix)}
