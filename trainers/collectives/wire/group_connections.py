"""The shared connections of each process group, created on first use."""

from weakref import WeakKeyDictionary

import torch.distributed as dist

from trainers.collectives.wire.connections import Connections

_CONNECTIONS: "WeakKeyDictionary[dist.ProcessGroup, Connections]" = WeakKeyDictionary()


def connections_of(group: dist.ProcessGroup | None) -> Connections:
    """Return the group's connections; all ranks of the group make their first call together."""
    key = group if group is not None else dist.group.WORLD
    assert key is not None
    if key not in _CONNECTIONS:
        _CONNECTIONS[key] = Connections(group)
    return _CONNECTIONS[key]
