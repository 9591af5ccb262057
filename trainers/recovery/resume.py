"""Resume an attempt from the newest checkpoint that every rank can read undamaged."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from contract.spec.checks.extension import has_open_end
from contract.spec.choices.rules import Sync
from contract.spec.run import RunSpec
from trainers.checkpoints.checkpoint_directory import (
    CheckpointDirectory,
    DamagedCheckpoint,
    Manifest,
    PartState,
    rank_part,
)
from trainers.collectives.json_exchange import broadcast_json
from trainers.ranks.rank_info import RankInfo
from trainers.recovery.checkpoint_reading import Parts, read_together, share_of_ranks
from trainers.recovery.mean_buffers import mean_buffers
from trainers.replicas.data_digest import DataDigest, differences
from trainers.rules.rule import Rule
from trainers.training.state import TrainingState

# fields that may change between attempts: they decide where and how a run is computed, not its result; a run whose
# schedule does not depend on the total number of epochs may also get more of them
CHANGEABLE_FIELDS = frozenset({"resources", "collective", "checkpoint", "compare_replicas", "tensor"})


class ResumePoint(NamedTuple):
    """The step at which an attempt resumes, and notes for the user."""

    step: int
    notes: list[str]


def resume(
    directory: CheckpointDirectory,
    run: RunSpec,
    rank_info: RankInfo,
    state: TrainingState,
    device: torch.device,
    *,
    data: DataDigest,
) -> ResumePoint | None:
    """Load the newest undamaged checkpoint, the same on all ranks, into `state`; return None if there is none at all.

    A checkpoint that is not finite is damaged too: an earlier version stored it. Raise ValueError if the checkpoint
    belongs to another run or holds what cannot be read back, or if this attempt has other data than `data` and may not
    have them.
    """
    names = broadcast_json(directory.list_complete() if rank_info.rank == 0 else None)
    notes: list[str] = []
    for name in names:
        try:
            found = read_together(
                directory,
                name,
                partial(_ranks_to_read, rank_info=rank_info, rule=state.rule),
                find_not_finite=partial(_find_not_finite, state),
            )
        except DamagedCheckpoint as damage:
            notes.append(f"passed over a damaged checkpoint: {damage}")
            if rank_info.rank == 0:
                directory.mark_damaged(name)
            continue
        _check_same_run(found.manifest, run)
        notes += check_same_data(found.manifest, data, accepts_new=run.checkpoint.accept_new_data)
        return ResumePoint(_load(found, run, rank_info, state, device), notes + _notes(found.manifest, rank_info, run))
    return ResumePoint(0, notes) if notes else None


def describe_run(run: RunSpec, data: DataDigest) -> dict[str, Any]:
    """Return what a checkpoint's manifest stores about its run and the data of its attempt."""
    return {"spec": run.model_dump(mode="json"), "data": data}


def _ranks_to_read(manifest: Manifest, *, rank_info: RankInfo, rule: Rule) -> Sequence[int]:
    """Return the saved ranks whose parts this rank reads.

    If the world has changed, every rank reads some of the parts. If replicas differ, this rank's part may be missing:
    the rank was lost when the others saved, or there were fewer ranks.
    """
    if rule.replicas_differ:
        return [rank_info.rank] if rank_part(rank_info.rank) in manifest.parts else []
    return [rank_info.rank] if manifest.world == rank_info.world else share_of_ranks(manifest)


def _find_not_finite(state: TrainingState, shared: PartState, rank_states: Sequence[PartState]) -> str | None:
    found = (state.find_not_finite(shared, own) for own in rank_states or [{}])
    return next((text for text in found if text), None)


def _load(parts: Parts, run: RunSpec, rank_info: RankInfo, state: TrainingState, device: torch.device) -> int:
    manifest, shared, rank_states = parts
    if state.rule.replicas_differ and not rank_states:
        step = run.steps if rank_info.rank in shared["finished"] else manifest.step
        state.load_center(step, shared, seed=run.seed, rank=rank_info.rank)
    elif state.rule.replicas_differ or manifest.world == rank_info.world:
        state.load(manifest.step, shared, rank_states[0], device)
    else:
        saved = [own["buffers"] for own in rank_states]
        buffers = mean_buffers(state.buffers(), saved, statistics=state.statistics(), world=manifest.world)
        state.load_with_other_world(manifest.step, shared, buffers, seed=run.seed, rank=rank_info.rank)
    return manifest.step


def _check_same_run(manifest: Manifest, run: RunSpec) -> None:
    saved = RunSpec.model_validate(manifest.about["spec"]).model_dump(mode="json")
    current = run.model_dump(mode="json")
    changeable = CHANGEABLE_FIELDS | ({"epochs"} if run.epochs >= saved["epochs"] and has_open_end(run) else set())
    differences = [
        text for name in current if name not in changeable for text in _differences(name, saved[name], current[name])
    ]
    if differences:
        raise ValueError(f"the checkpoint at step {manifest.step} belongs to another run: {'; '.join(differences)}")


def _differences(path: str, saved: Any, current: Any) -> Iterator[str]:
    if isinstance(saved, Mapping) and isinstance(current, Mapping) and saved.get("kind") == current.get("kind"):
        for name in sorted({*saved, *current}):
            yield from _differences(f"{path}.{name}", saved.get(name), current.get(name))
    elif saved != current:
        yield f"{path} is {_abbreviate(saved)} there and {_abbreviate(current)} here"


def _abbreviate(value: Any) -> str:
    return str(value["kind"]) if isinstance(value, Mapping) and "kind" in value else str(value)


def _notes(manifest: Manifest, rank_info: RankInfo, run: RunSpec) -> list[str]:
    worlds = f"saved by {manifest.world} ranks, goes on with {rank_info.world}"
    if isinstance(run.rule, Sync):
        return [] if manifest.world == rank_info.world else [f"{worlds}: their random generators begin anew"]
    new = [rank for rank in range(rank_info.world) if rank_part(rank) not in manifest.parts]
    notes = [] if manifest.world == rank_info.world else [worlds]
    return notes + [f"rank {rank} has no part in it: lost or finished then, or new" for rank in new]


def check_same_data(manifest: Manifest, data: DataDigest, *, accepts_new: bool) -> list[str]:
    """Return a note if the data are others and the run accepts them; else raise ValueError.

    The checkpoints of earlier versions have no digest of their data: any data are accepted.
    """
    saved = manifest.about.get("data")
    if saved is None or not (found := list(differences(saved, data))):
        return []
    message = f"the data are not those of the checkpoint at step {manifest.step}: {'; '.join(found)}"
    if accepts_new:
        return [f"{message}; checkpoint.accept_new_data allows it"]
    raise ValueError(
        f"{message}. Held-out samples may be among those that trained already. Restore the data, or make the function "
        "of the data return the same sets in every process; if the data are meant to change, retry the run with "
        "--accept-new-data, which sets checkpoint.accept_new_data"
    )
