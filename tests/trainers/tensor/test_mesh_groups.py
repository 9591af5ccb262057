"""The groups of a mesh are found from their first ranks alone, which takes no long time on 4,096 ranks."""

import time

import pytest

from trainers.tensor.mesh import GROUPS, Kind, Shape


@pytest.mark.parametrize(("kind", "side"), [("one_d", 5), ("two_d", 3), ("three_d", 3)])
def test_every_group_has_the_members_that_each_of_its_ranks_finds(kind: Kind, side: int) -> None:
    shape = Shape(kind, side)
    for group in GROUPS[kind]:
        found = {tuple(shape.members(group, rank)) for rank in range(shape.size)}
        assert shape.every_group(group) == sorted(map(list, found))


def test_the_groups_of_4096_ranks_take_no_second() -> None:
    start_s = time.process_time()
    groups = [Shape("three_d", 16).every_group(group) for group in ("i", "ji", "li")]
    assert [len(found) for found in groups] == [256, 16, 16]
    assert time.process_time() - start_s < 1
