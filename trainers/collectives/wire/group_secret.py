"""The secret by which the ranks of a process group recognize each other.

A run registers the secret of its attempt. A user's own script has none: then rank 0 draws a secret, and the process
group sends it to all ranks.
"""

import secrets
from weakref import WeakKeyDictionary

import torch.distributed as dist

from trainers.collectives.json_exchange import broadcast_json
from trainers.collectives.wire.handshake import SECRET_BYTES

_SECRETS: "WeakKeyDictionary[dist.ProcessGroup, bytes]" = WeakKeyDictionary()


def register_secret(secret: bytes) -> None:
    """Use `secret` for all ranks of the default group, and for its subgroups."""
    _SECRETS[_world()] = secret


def secret_of(group: dist.ProcessGroup | None) -> bytes:
    """Return the secret of the group's ranks; all ranks of the group make their first call together."""
    key = group if group is not None else _world()
    if (registered := _SECRETS.get(_world()) or _SECRETS.get(key)) is not None:
        return registered
    own = secrets.token_hex(SECRET_BYTES) if dist.get_rank(group) == 0 else None
    _SECRETS[key] = bytes.fromhex(broadcast_json(own, group))
    return _SECRETS[key]


def _world() -> dist.ProcessGroup:
    assert dist.group.WORLD is not None
    return dist.group.WORLD
