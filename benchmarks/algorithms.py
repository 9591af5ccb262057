"""The algorithms that the all-reduce benchmark compares: one table, by the name that its rows bear."""

from collections.abc import Callable, Sequence

from trainers.collectives import native, ring, torus
from trainers.collectives.runner import Allreduce, follow

Maker = Callable[[int, int], Allreduce]  # of the world and the ranks per host

TABLE: dict[str, Maker] = {
    "gloo": lambda world, per_host: native.allreduce,
    "ring": lambda world, per_host: follow(ring.allreduce(range(world), range(world)), chunks=world),
    "torus": lambda world, per_host: follow(
        torus.allreduce(range(world), range(world), rows=world // per_host), chunks=world
    ),
}


def algorithms(world: int, per_host: int, names: Sequence[str]) -> dict[str, Allreduce]:
    """Bind the named algorithms to this rank."""
    return {name: TABLE[name](world, per_host) for name in names}
