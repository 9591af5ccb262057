"""Read a checkpoint together: every file of it is read once, by one rank.

Rank 0 reads the manifest and the shared part and sends them to all ranks; each rank reads its own part, or, in a world
of another size, some of the parts. A damage that any rank finds is known to all ranks.
"""

import io
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist

from trainers.checkpoints.checkpoint_directory import (
    MANIFEST,
    SHARED,
    CheckpointDirectory,
    DamagedCheckpoint,
    Manifest,
    PartState,
    UnloadableCheckpoint,
    load_part,
    rank_part,
)
from trainers.collectives.bytes_broadcast import SourceFailed, broadcast_bytes
from trainers.collectives.json_exchange import gather_json

Select = Callable[[PartState], PartState]  # what of the shared part is needed
# the shared part and the parts of ranks -> what of them is not finite, or None
FindNotFinite = Callable[[PartState, Sequence[PartState]], str | None]


class Parts(NamedTuple):
    """The parts of a checkpoint that this rank has."""

    manifest: Manifest
    shared: PartState
    rank_states: list[PartState]


def read_together(
    directory: CheckpointDirectory,
    name: str,
    ranks_of: Callable[[Manifest], Sequence[int]],
    *,
    find_not_finite: FindNotFinite,
    select: Select | None = None,
) -> Parts:
    """Return the manifest, the shared part, and the parts of the ranks ranks_of(manifest).

    All ranks call this together. `select`: rank 0 sends only this of the shared part. Raise the same DamagedCheckpoint
    on all ranks if any file that a rank reads differs from what was written or is not finite, and the same
    UnloadableCheckpoint if a file holds what cannot be read back.
    """
    try:
        manifest = directory.parse_manifest(name, broadcast_bytes(lambda: _read(directory, name)).read())
        content = broadcast_bytes(lambda: _read_shared(directory, name, manifest, select))
    except SourceFailed as failure:
        raise DamagedCheckpoint(str(failure)) from failure
    problem, shared, states = None, {}, []
    try:
        states = [directory.read_part(name, manifest, rank_part(rank)) for rank in ranks_of(manifest)]
        shared = load_part(content, f"{name}/{SHARED}")
        if found := find_not_finite(shared, states):
            raise DamagedCheckpoint(f"{name}: {found}")
    except (DamagedCheckpoint, UnloadableCheckpoint) as error:
        problem = [isinstance(error, DamagedCheckpoint), str(error)]
    if problems := [of_rank for of_rank in gather_json(problem) if of_rank]:
        is_damaged, text = max(problems, key=lambda of_rank: of_rank[0])  # damage first: there is another checkpoint
        raise DamagedCheckpoint(text) if is_damaged else UnloadableCheckpoint(text)
    return Parts(manifest, shared, states)


def share_of_ranks(manifest: Manifest) -> range:
    """Return the saved ranks whose parts this rank reads, if the world has changed: together all, each once."""
    return range(dist.get_rank(), manifest.world, dist.get_world_size())


def _read(directory: CheckpointDirectory, name: str) -> io.BytesIO:
    try:
        return io.BytesIO(directory.read_bytes(name, MANIFEST))
    except DamagedCheckpoint as damage:
        raise SourceFailed(str(damage)) from damage


def _read_shared(directory: CheckpointDirectory, name: str, manifest: Manifest, select: Select | None) -> io.BytesIO:
    try:
        content = directory.read_checked(name, manifest, SHARED)
    except DamagedCheckpoint as damage:
        raise SourceFailed(str(damage)) from damage
    if select is not None:
        try:
            state = select(load_part(content, f"{name}/{SHARED}"))
        except UnloadableCheckpoint as error:
            raise SourceFailed(str(error)) from error
        content = io.BytesIO()
        torch.save(state, content)
    return content
