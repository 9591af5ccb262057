"""verify_plan() accepts every algorithm for every world from 1 to 64 in every shape, and rejects modified plans."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from tests.testing.trainers.verification import verify_together
from trainers.collectives.layout import Hosts, grid, hosts_of, squarest
from trainers.collectives.plan import Plan, Send
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree
from trainers.collectives.verify import verify_plan

Shapes = Callable[[Hosts], Iterator[Plan]]
EVERY: dict[str, Shapes] = {
    "ring": lambda hosts: iter([ring.plan(hosts)]),
    "torus": lambda hosts: (torus.plan(hosts, rows=rows) for rows in up_to(hosts) if up_to(hosts)[-1] % rows == 0),
    "tree": lambda hosts: iter([tree.plan(hosts)]),
    "colors": lambda hosts: (colors.plan(hosts, k=k) for k in up_to(hosts)),
    "hierarchical": lambda hosts: (hierarchical.plan(hosts, group=group) for group in up_to(hosts)),
    "halving_doubling": lambda hosts: iter([halving_doubling.plan(hosts)]),
    "server": lambda hosts: (server.plan(hosts, servers=servers) for servers in up_to(hosts)),
}


def up_to(hosts: Hosts) -> range:
    return range(1, sum(map(len, hosts)) + 1)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("kind", EVERY)
def test_an_algorithm_is_correct_for_every_world_and_shape(kind: str) -> None:
    for world in range(1, 65):
        verify_together(list(EVERY[kind]([range(world)])))


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("planner", [torus.plan, hierarchical.plan])
def test_a_plan_by_hosts_is_correct_for_every_number_of_hosts(planner: Callable[[Hosts], Plan]) -> None:
    """Hosts of equal and of unequal sizes, from one rank each; more than 24 ranks need too many chunks for a test."""
    for world in range(1, 25):
        verify_together([planner(hosts_of(world, hosts)) for hosts in range(1, world + 1)])


@pytest.mark.parametrize("sizes", [(1, 5), (2, 3), (3, 5, 7), (8, 7, 8), (2, 3, 4, 6), (1, 1, 9)])
@pytest.mark.parametrize("kind", EVERY)
def test_ranks_may_be_numbered_in_any_order_over_uneven_hosts(kind: str, sizes: Sequence[int]) -> None:
    ranks = sorted(range(sum(sizes)), key=lambda rank: (rank * 7) % 11)
    hosts = [ranks[sum(sizes[:host]) : sum(sizes[: host + 1])] for host in range(len(sizes))]
    verify_together([*EVERY[kind](hosts), torus.plan(hosts), hierarchical.plan(hosts)])


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [5, 8])
@pytest.mark.parametrize("kind", EVERY)
def test_every_modified_plan_is_rejected(kind: str, world: int) -> None:
    """A message is missing, replaces instead of adds or adds instead of replaces, or is sent twice."""
    for plan in EVERY[kind]([range(world)]):
        rounds = [list(sends) for sends in plan]
        for number, sends in enumerate(rounds):
            for index, send in enumerate(sends):
                for changed in modifications(send):
                    modified = [*sends[:index], *changed, *sends[index + 1 :]]
                    with pytest.raises(ValueError, match=r"rank"):
                        verify_plan(
                            [*rounds[:number], modified, *rounds[number + 1 :]], world=world, chunks=plan.chunks
                        )


def modifications(send: Send) -> Iterator[list[Send]]:
    if not send.chunks:
        return
    yield []
    yield [replace(send, add=not send.add)]
    yield [send, send]


@pytest.mark.parametrize("world", range(1, 65))
def test_no_rank_is_interior_in_two_colors(world: int) -> None:
    for k in range(1, world + 1):
        width = colors.arity(world, k)
        trees = [colors.Tree(ranks, width) for ranks in colors.rotations(range(world), k)]
        interior = [rank for tree_ in trees for rank in tree_.interior]
        assert len(interior) == len(set(interior))
        assert width == k or world % k > 1 or world <= k + 1


@pytest.mark.parametrize(
    ("planner", "message"),
    [
        (lambda: colors.plan([range(4)], k=5), "4 ranks cannot have 5 colors: k must be from 1 to 4"),
        (lambda: torus.plan([range(4)], rows=5), "4 ranks cannot form 5 rows: rows must be from 1 to 4"),
        (lambda: hierarchical.plan([range(4)], group=5), "4 ranks cannot form groups of 5: group must be from 1 to 4"),
        (lambda: server.plan([range(4)], servers=0), "4 ranks cannot have 0 servers: servers must be from 1 to 4"),
        (lambda: torus.plan(hosts_of(2, 3)), "2 ranks cannot occupy 3 hosts: hosts must be from 1 to 2"),
    ],
)
def test_an_impossible_shape_is_rejected_with_its_limits(planner: Callable[[], Plan], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        planner()


def test_rows_need_not_divide_the_ranks() -> None:
    for world in range(1, 17):
        verify_together([torus.plan([range(world)], rows=rows) for rows in range(1, world + 1)])


def test_a_grid_has_one_row_per_host_or_is_the_squarest_grid() -> None:
    assert grid(hosts_of(8, 2)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert grid(hosts_of(5, 2)) == [[0, 1, 2], [3, 4]]
    assert [len(grid(hosts_of(*shape))) for shape in ((16, 16), (16, 1), (12, 12), (7, 1), (7, 4))] == [4, 4, 3, 1, 1]
    assert [squarest(world) for world in (1, 2, 1024, 1088, 3456)] == [1, 1, 32, 32, 54]
