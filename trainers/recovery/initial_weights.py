"""Initial weights: a run starts from the weights that another run evaluates, as its checkpoint has them."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from torch import Tensor

from contract.spec.checkpoint import InitialWeights
from trainers.checkpoints.checkpoint_directory import CheckpointDirectory, DamagedCheckpoint, Manifest, PartState
from trainers.collectives.json_exchange import gather_json
from trainers.models.persistent_buffers import persistent_buffers, without_caches
from trainers.models.statistics import statistics
from trainers.recovery.checkpoint_reading import read_together, share_of_ranks
from trainers.recovery.mean_buffers import mean_buffers, of_rank_0
from trainers.training.finite_state import AVERAGE, MODEL, find_in_weights, frozen_parameters
from trainers.training.state import TrainingState


def load_initial_weights(weights: InitialWeights, state: TrainingState, *, rank: int, world: int) -> None:
    """Load the weights, the statistics of the same rank, or their mean if there were more or fewer ranks, and rank 0's
    other buffers: those of another rank may differ from them if each trained a replica of its own.

    All ranks call this together. Rank 0 sends the weights alone, without the optimizer's state, and no rank reads the
    parts of ranks if the net has no buffers. Raise ValueError if they cannot be had.
    """
    assert weights.folder is not None, "the service resolves the run at its submission"
    assert weights.checkpoint is not None
    directory = CheckpointDirectory(Path(weights.folder) / "checkpoints", retained=1)
    like = persistent_buffers(state.model)

    def ranks_of(manifest: Manifest) -> Sequence[int]:
        if not like:
            return []
        return [rank] if manifest.world == world else share_of_ranks(manifest)

    find = partial(_find_not_finite, statistics(state.model).keys(), frozen_parameters(state.model))
    try:
        found = read_together(directory, weights.checkpoint, ranks_of, find_not_finite=find, select=_select_evaluated)
    except DamagedCheckpoint as damage:
        raise ValueError(f"the initial weights of run {weights.run} cannot be read: {damage}") from damage
    read = [without_caches(evaluated(part["buffers"]), state.model) for part in found.rank_states]
    buffers: Mapping[str, Tensor] = {}
    if like:
        _check_buffers(read, like)
        averaged = statistics(state.model)
        if found.manifest.world != world:
            buffers = mean_buffers(like, read, statistics=averaged, world=found.manifest.world)
        else:
            buffers = {**read[0], **of_rank_0([name for name in like if name not in averaged], read)}
    state.start_from(found.shared["parameters"], buffers)


def _select_evaluated(shared: PartState) -> PartState:
    return {"parameters": evaluated(shared["parameters"])}


def _find_not_finite(
    names: Collection[str], frozen: Collection[str], shared: PartState, rank_states: Sequence[PartState]
) -> str | None:
    """Return what of the weights that are not frozen, or of the statistics with these names, is not finite, or None."""
    for part in rank_states or [{"buffers": {}}]:
        buffers = {name: buffer for name, buffer in evaluated(part["buffers"]).items() if name in names}
        if found := find_in_weights(shared["parameters"], buffers, frozen=frozen):
            return found
    return None


def _check_buffers(saved: Sequence[Mapping[str, Tensor]], like: Mapping[str, Tensor]) -> None:
    """Raise ValueError on all ranks if a rank has read buffers of another net, which have no mean here."""
    shapes = {name: list(tensor.shape) for name, tensor in like.items()}
    differs = any({name: list(tensor.shape) for name, tensor in part.items()} != shapes for part in saved)
    if any(gather_json(differs)):
        raise ValueError("a checkpoint of another model: its buffers have other names or shapes")


def evaluated(saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors of the net that the run evaluates, by their names in it: of the average if there is one."""
    prefix = AVERAGE if any(name.startswith(AVERAGE) for name in saved) else MODEL
    return {name.removeprefix(prefix): tensor for name, tensor in saved.items() if name.startswith(prefix)}
