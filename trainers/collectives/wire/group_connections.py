"""One mesh per process group, made when the group first needs it."""

from weakref import WeakKeyDictionary

import torch.distributed as dist

from trainers.collectives.wire.connections import Mesh

_MESHES: "WeakKeyDictionary[dist.ProcessGroup, Mesh]" = WeakKeyDictionary()


def mesh_of(group: dist.ProcessGroup | None) -> Mesh:
    """Return the group's mesh; all its ranks call this for the first time together."""
    whole = group if group is not None else dist.group.WORLD
    assert whole is not None
    if whole not in _MESHES:
        _MESHES[whole] = Mesh(group)
    return _MESHES[whole]
