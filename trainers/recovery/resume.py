"""Where an attempt goes on: the newest checkpoint that every rank finds as it was written."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from contract.spec.choices.rules import Sync
from contract.spec.run import RunSpec
from trainers.checkpoints.checkpoint_directory import SHARED, Damaged, Manifest, Shelf, own
from trainers.ranks.rank_info import Place
from trainers.training.state import Dicts, State

# where a run is carried out may change from attempt to attempt; what it computes may not
FREE = frozenset({"resources", "collective", "checkpoint"})


class Resumption(NamedTuple):
    step: int
    notes: list[str]


def resume(shelf: Shelf, run: RunSpec, place: Place, state: State, device: torch.device) -> Resumption | None:
    """Bring `state` to the newest good checkpoint, on all ranks the same; none when there is none to look at.

    Raise ValueError when it is the checkpoint of another run.
    """
    names = _said_by_first(shelf.names() if place.rank == 0 else [])
    notes: list[str] = []
    for name in names:
        found = _read(shelf, name, place, replicas_differ=state.rule.replicas_differ)
        if faults := _told_by_all(found if isinstance(found, str) else None):
            notes.append(f"passed over a damaged checkpoint: {faults[0]}")
            if place.rank == 0:
                shelf.set_aside(name)
            continue
        assert not isinstance(found, str)
        return Resumption(_load(found, run, place, state, device), notes + _notes(found[0], place, run))
    return Resumption(0, notes) if notes else None


def about(run: RunSpec) -> dict[str, Any]:
    """What a checkpoint says of the run that it belongs to."""
    return {"spec": run.model_dump(mode="json")}


def _read(shelf: Shelf, name: str, place: Place, *, replicas_differ: bool) -> tuple[Manifest, Dicts, list[Dicts]] | str:
    """A checkpoint's manifest, shared part and this rank's own, or all ranks' where they were others; or the damage.

    Where replicas differ, a rank's own or none: it may have been lost when the others were saved, or there were fewer.
    """
    try:
        manifest = shelf.manifest(name)
        ranks = [place.rank] if replicas_differ or manifest.world == place.world else range(manifest.world)
        if replicas_differ and own(place.rank) not in manifest.parts:
            ranks = []
        shared = shelf.read_part(name, manifest, SHARED)
        return manifest, shared, [shelf.read_part(name, manifest, own(rank)) for rank in ranks]
    except Damaged as damage:
        return str(damage)


def _load(found: tuple[Manifest, Dicts, list[Dicts]], run: RunSpec, place: Place, state: State, device: Any) -> int:
    manifest, shared, alones = found
    _refuse_another(manifest, run)
    if not alones:
        step = run.steps if place.rank in shared["finished"] else manifest.step
        state.load_center(step, shared, seed=run.seed, rank=place.rank)
    elif state.rule.replicas_differ or manifest.world == place.world:
        state.load(manifest.step, shared, alones[0], device)
    else:
        state.load_among_others(manifest.step, shared, alones, seed=run.seed, rank=place.rank)
    return manifest.step


def _refuse_another(manifest: Manifest, run: RunSpec) -> None:
    there = RunSpec.model_validate(manifest.about["spec"]).model_dump(mode="json")
    here = run.model_dump(mode="json")
    differing = [text for name in here if name not in FREE for text in _differences(name, there[name], here[name])]
    if differing:
        raise ValueError(f"the checkpoint at step {manifest.step} belongs to another run: {'; '.join(differing)}")


def _differences(path: str, there: Any, here: Any) -> Iterator[str]:
    if isinstance(there, Mapping) and isinstance(here, Mapping) and there.get("kind") == here.get("kind"):
        for name in sorted({*there, *here}):
            yield from _differences(f"{path}.{name}", there.get(name), here.get(name))
    elif there != here:
        yield f"{path} is {_brief(there)} there and {_brief(here)} here"


def _brief(value: Any) -> str:
    return str(value["kind"]) if isinstance(value, Mapping) and "kind" in value else str(value)


def _notes(manifest: Manifest, place: Place, run: RunSpec) -> list[str]:
    others = f"saved by {manifest.world} ranks, goes on with {place.world}"
    if isinstance(run.rule, Sync):
        return [] if manifest.world == place.world else [f"{others}: their random generators begin anew"]
    new = [rank for rank in range(place.world) if own(rank) not in manifest.parts]
    told = [] if manifest.world == place.world else [others]
    return told + [f"rank {rank} has no part in it: lost or finished then, or new" for rank in new]


def _said_by_first(names: list[str]) -> list[str]:
    box: list[Any] = [names]
    dist.broadcast_object_list(box, src=0)
    return list(box[0])


def _told_by_all(fault: str | None) -> list[str]:
    """Every rank's fault, in their order, on every rank."""
    told: list[str | None] = [None] * dist.get_world_size()
    dist.all_gather_object(told, fault)
    return [fault for fault in told if fault]
