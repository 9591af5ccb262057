"""The algorithms that the all-reduce benchmark compares: one table, by the name that its rows bear."""

from collections.abc import Callable, Sequence

from trainers.collectives import native, ring, torus
from trainers.collectives.auto import Auto
from trainers.collectives.runner import Allreduce, follow

Maker = Callable[[int, int], Allreduce]  # of the world and the ranks per host


def _ring(world: int, per_host: int) -> Allreduce:
    return follow(ring.allreduce(range(world), range(world)), chunks=world)


def _torus(world: int, per_host: int) -> Allreduce:
    return follow(torus.allreduce(range(world), range(world), rows=world // per_host), chunks=world)


def _auto(world: int, per_host: int) -> Allreduce:
    candidates = {"torus": _torus(world, per_host), "ring": _ring(world, per_host), "native": native.allreduce}
    return Auto(candidates)


TABLE: dict[str, Maker] = {
    "gloo": lambda world, per_host: native.allreduce,
    "ring": _ring,
    "torus": _torus,
    "auto": _auto,
}


def algorithms(world: int, per_host: int, names: Sequence[str]) -> dict[str, Allreduce]:
    """Bind the named algorithms to this rank."""
    return {name: TABLE[name](world, per_host) for name in names}
