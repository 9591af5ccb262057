"""The predicted communication of a GPT's pass on a mesh: each collective by the price of its plan. No torch is needed.

All groups of some axes carry out a collective at the same time and share the links of their hosts, so the plan that is
priced has the rounds of all of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from trainers.collectives.plan import Operation, Plan, Round, run_in_parallel
from trainers.collectives.plans import blocks, halving_doubling, ring
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import FLOAT_BYTES, Price, price
from trainers.tensor.calls import Sizes, calls_of_pass
from trainers.tensor.mesh import AXES, Kind, Shape

KINDS: tuple[Kind, ...] = ("one_d", "two_d", "three_d")


@dataclass(frozen=True)
class PassPrice:
    """What a forward and a backward pass of one replica costs in communication."""

    shape: Shape
    words_per_rank: float  # that a rank sends, the mean over the ranks
    collectives: int
    seconds: float


def shapes_of(ranks: int) -> list[Shape]:
    """Return the meshes of so many ranks: a line, and a square or a cube if the number is one."""
    found = []
    for kind in KINDS:
        side = round(ranks ** (1 / len(AXES[kind])))
        if side > 1 and Shape(kind, side).size == ranks:
            found.append(Shape(kind, side))
    return found


def does_divide(shape: Shape, sizes: Sizes, *, heads: int) -> bool:
    """Return whether the width, the heads, the tokens and the samples of a GPT divide into the blocks of a mesh."""
    width_blocks = shape.side if shape.kind == "one_d" else shape.size
    token_blocks = shape.side**2 if shape.kind == "three_d" else shape.side
    pairs = [(sizes.width, width_blocks), (heads, shape.side), (sizes.vocabulary, token_blocks)]
    return not any(size % count for size, count in [*pairs, (sizes.samples, shape.row_blocks)])


def price_pass(shape: Shape, sizes: Sizes, network: Network, *, call_s: float = 0.0) -> PassPrice:
    """Price a pass on a mesh of all ranks of the network; raise ValueError if their numbers differ.

    `call_s`: what a call takes beside its messages, to prepare its vector and its schedule. The links rest before each
    call, while the ranks compute, so each call has the network's burst anew.
    """
    if shape.size != network.world:
        raise ValueError(f"the mesh has {shape.size} ranks, but the network has {network.world}")
    figures = tuple((name, value) for name, value in vars(network).items() if name != "hosts")
    hosts = tuple(map(tuple, network.hosts))
    words = calls = 0
    seconds = 0.0
    for call in calls_of_pass(shape, sizes):
        priced = _price_of_groups(shape, call.group, call.operation, hosts, figures)
        words += call.words_sent(shape)
        calls += call.count
        seconds += call.count * (_seconds(priced, FLOAT_BYTES * call.words, network) + call_s)
    return PassPrice(shape, words / shape.size, calls, seconds)


def _seconds(found: Price, size_bytes: int, network: Network) -> float:
    """Return the time of a call whose first bytes pass in a burst."""
    return found.runner_seconds(size_bytes) - min(found.link_share * size_bytes, network.burst_bytes) / network.rate


@lru_cache(maxsize=1024)  # the evaluation of the rounds does not depend on the sizes of the net
def _price_of_groups(
    shape: Shape,
    group: str,
    operation: Operation,
    hosts: tuple[tuple[int, ...], ...],
    figures: tuple[tuple[str, float], ...],
) -> Price:
    """Return the price of the operation in all groups of the axes together, on a network of these figures."""
    return price(_plan_of_groups(shape, group, operation), Network(hosts=hosts, **dict(figures)))


def _plan_of_groups(shape: Shape, group: str, operation: Operation) -> Plan:
    """Return the plan by which all groups of the axes carry out the operation at the same time."""
    plans = [_plan(members, operation) for members in shape.every_group(group)]

    def make(own: int | None) -> Iterator[Round]:
        return run_in_parallel(*(plan.make(own) for plan in plans), own=own)

    return Plan("mesh", shape.size, plans[0].chunks, make, operation=operation)


def _plan(members: list[int], operation: Operation) -> Plan:
    """Return the plan that the runner takes: by doubling if the number of ranks is a power of two."""
    if operation != "all_reduce":
        return blocks.plans(operation, [members])[-1]
    n = len(members)
    doubles = n & (n - 1) == 0
    rounds = partial(halving_doubling.allreduce if doubles else ring.allreduce, members, range(n))
    return Plan("halving_doubling" if doubles else "ring", n, n, rounds)
