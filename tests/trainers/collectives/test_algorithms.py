"""Every algorithm is proven for every world from 1 to 64 in every shape, and no planted fault gets past the proof."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from tests.testing.trainers.verification import prove
from trainers.collectives.layout import Hosts, grid, hosts_of, squarest
from trainers.collectives.plan import Plan, Send
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree
from trainers.collectives.verify import check

Shapes = Callable[[Hosts], Iterator[Plan]]
EVERY: dict[str, Shapes] = {
    "ring": lambda hosts: iter([ring.plan(hosts)]),
    "torus": lambda hosts: (torus.plan(hosts, rows=rows) for rows in upto(hosts) if upto(hosts)[-1] % rows == 0),
    "tree": lambda hosts: iter([tree.plan(hosts)]),
    "colors": lambda hosts: (colors.plan(hosts, k=k) for k in upto(hosts)),
    "hierarchical": lambda hosts: (hierarchical.plan(hosts, group=group) for group in upto(hosts)),
    "halving_doubling": lambda hosts: iter([halving_doubling.plan(hosts)]),
    "server": lambda hosts: (server.plan(hosts, servers=servers) for servers in upto(hosts)),
}


def upto(hosts: Hosts) -> range:
    return range(1, sum(map(len, hosts)) + 1)


@pytest.mark.parametrize("kind", EVERY)
def test_an_algorithm_is_proven_for_every_world_and_shape(kind: str) -> None:
    for world in range(1, 65):
        prove(list(EVERY[kind]([range(world)])))


@pytest.mark.parametrize("planner", [torus.plan, hierarchical.plan])
def test_a_plan_by_hosts_is_proven_for_every_number_of_hosts(planner: Callable[[Hosts], Plan]) -> None:
    """Hosts of equal and of unequal size, down to one rank each; 24 is as far as tens of thousands of chunks go."""
    for world in range(1, 25):
        prove([planner(hosts_of(world, hosts)) for hosts in range(1, world + 1)])


@pytest.mark.parametrize("sizes", [(1, 5), (2, 3), (3, 5, 7), (8, 7, 8), (2, 3, 4, 6), (1, 1, 9)])
@pytest.mark.parametrize("kind", EVERY)
def test_ranks_may_be_numbered_in_any_order_over_uneven_hosts(kind: str, sizes: Sequence[int]) -> None:
    ranks = sorted(range(sum(sizes)), key=lambda rank: (rank * 7) % 11)
    hosts = [ranks[sum(sizes[:host]) : sum(sizes[: host + 1])] for host in range(len(sizes))]
    prove([*EVERY[kind](hosts), torus.plan(hosts), hierarchical.plan(hosts)])


@pytest.mark.parametrize("world", [5, 8])
@pytest.mark.parametrize("kind", EVERY)
def test_no_planted_fault_passes(kind: str, world: int) -> None:
    """A message is lost, kept instead of added or added instead of kept, or sent twice."""
    for plan in EVERY[kind]([range(world)]):
        rounds = [list(sends) for sends in plan]
        for number, sends in enumerate(rounds):
            for place, send in enumerate(sends):
                for fault in faults(send):
                    holed = [*sends[:place], *fault, *sends[place + 1 :]]
                    with pytest.raises(ValueError, match=r"rank"):
                        check([*rounds[:number], holed, *rounds[number + 1 :]], world=world, chunks=plan.chunks)


def faults(send: Send) -> Iterator[list[Send]]:
    if not send.chunks:
        return
    yield []
    yield [replace(send, add=not send.add)]
    yield [send, send]


@pytest.mark.parametrize("world", range(1, 65))
def test_no_rank_sums_for_two_colors(world: int) -> None:
    for k in range(1, world + 1):
        width = colors.arity(world, k)
        trees = [colors.Tree(places, width) for places in colors.turns(range(world), k)]
        interior = [rank for tree_ in trees for rank in tree_.interior]
        assert len(interior) == len(set(interior))
        assert width == k or world % k > 1 or world <= k + 1


@pytest.mark.parametrize(
    ("planner", "complaint"),
    [
        (lambda: colors.plan([range(4)], k=5), "5 colors need at least 5 ranks, and there are 4"),
        (lambda: torus.plan([range(4)], rows=5), "4 ranks do not form 5 rows"),
        (lambda: hierarchical.plan([range(4)], group=5), "4 ranks have no group of 5"),
        (lambda: server.plan([range(4)], servers=0), "4 ranks cannot have 0 servers among them"),
        (lambda: torus.plan(hosts_of(2, 3)), "2 ranks cannot stand on 3 hosts with at least one on each"),
    ],
)
def test_a_shape_that_cannot_be_is_refused_with_the_sum(planner: Callable[[], Plan], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        planner()


def test_rows_need_not_divide_the_ranks() -> None:
    for world in range(1, 17):
        prove([torus.plan([range(world)], rows=rows) for rows in range(1, world + 1)])


def test_a_grid_has_a_host_to_a_row_or_is_as_square_as_can_be() -> None:
    assert grid(hosts_of(8, 2)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert grid(hosts_of(5, 2)) == [[0, 1, 2], [3, 4]]
    assert [len(grid(hosts_of(*place))) for place in ((16, 16), (16, 1), (12, 12), (7, 1), (7, 4))] == [4, 4, 3, 1, 1]
    assert [squarest(world) for world in (1, 2, 1024, 1088, 3456)] == [1, 1, 32, 32, 54]
