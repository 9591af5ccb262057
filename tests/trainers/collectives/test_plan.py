"""verify_plan() accepts correct plans and names every kind of error."""

import pytest

from trainers.collectives.plan import Round, Send, Sends, run_in_parallel, split
from trainers.collectives.plans import ring, torus
from trainers.collectives.verify import verify_plan

ONE = range(1)


def test_a_torus_works_among_any_ranks_in_any_order() -> None:
    plans = [torus.allreduce(ranks, range(4), rows=2) for ranks in ([6, 0, 2, 4], [1, 7, 5, 3])]
    evens_to_odds = [Send(rank, rank + 1, range(4), add=True) for rank in range(0, 8, 2)]
    and_back = [Send(rank + 1, rank, range(4), add=False) for rank in range(0, 8, 2)]
    verify_plan([*run_in_parallel(*plans), evens_to_odds, and_back], world=8, chunks=4)


@pytest.mark.parametrize(
    ("rounds", "error"),
    [
        ([[Send(0, 1, ONE, add=True)]], "rank 0 ends without rank 1 in chunk 0"),
        ([[Send(0, 1, ONE, True)], [Send(0, 1, ONE, True)]], "round 1: rank 1 counts rank 0 twice in chunk 0"),
        (
            [[Send(0, 1, ONE, True)], [Send(1, 0, ONE, True)]],
            "round 1: rank 0 counts rank 0 twice in chunk 0 when it adds from",
        ),
        ([[Send(0, 1, ONE, True), Send(1, 0, ONE, False)]], "round 0: rank 1 sends chunk 0 while it receives it"),
        ([[Send(0, 2, ONE, True)]], "round 0: rank 2 is not in the world of 2 ranks"),
        ([[Send(-1, 1, ONE, True)]], "round 0: rank -1 is not in the world of 2 ranks"),
        ([[Send(1, 1, ONE, True)]], "round 0: rank 1 sends to itself"),
        ([[Send(0, 1, range(1, 2), True)]], r"round 0: rank 0 sends range\(1, 2\), but the plan has only 1 chunks"),
    ],
)
def test_an_incorrect_plan_is_rejected_with_the_error(rounds: list[Round], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        verify_plan(rounds, world=2, chunks=1)


def test_two_writers_of_one_chunk_are_an_error() -> None:
    with pytest.raises(ValueError, match="round 0: ranks 0 and 1 both write chunk 0 of rank 2"):
        verify_plan([[Send(0, 2, ONE, add=False), Send(1, 2, ONE, add=True)]], world=3, chunks=1)


def test_sums_in_different_orders_are_an_error() -> None:
    """Rank 1 adds ((0 + 3) + 1) + 2 and rank 3 adds (1 + 2) + (0 + 3): equal sums with different bits."""
    edges = [(3, 0, True), (1, 3, False), (0, 1, True), (2, 1, True), (2, 3, True), (0, 3, True)]
    edges += [(1, 0, False), (1, 2, False)]
    with pytest.raises(ValueError, match="ranks 0 and 3 sum chunk 0 in different orders, so their bits may differ"):
        verify_plan([[Send(src, dst, ONE, add)] for src, dst, add in edges], world=4, chunks=1)


def test_a_ring_without_one_of_its_messages_is_rejected() -> None:
    whole = list(ring.allreduce(range(4), range(4)))
    for number, sends in enumerate(whole):
        for missing in range(len(sends)):
            incomplete = [*whole[:number], [*sends[:missing], *sends[missing + 1 :]], *whole[number + 1 :]]
            with pytest.raises(ValueError, match="ends without"):
                verify_plan(incomplete, world=4, chunks=4)


def test_split_gives_parts_that_differ_by_at_most_one_chunk() -> None:
    assert split(range(2, 8), 3) == [range(2, 4), range(4, 6), range(6, 8)]
    assert [len(part) for part in split(range(7), 3)] == [2, 2, 3]
    assert [len(part) for part in split(range(2), 3)] == [0, 1, 1]


def test_a_round_in_columns_equals_the_list_of_its_sends() -> None:
    sends = [Send(0, 1, range(2, 5), add=True), Send(1, 2, range(0), add=False), Send(2, 0, ONE, add=True)]
    columns = Sends.of(sends)
    assert list(columns) == sends
    assert [columns[0], columns[-1], len(columns)] == [sends[0], sends[2], 3]
    assert list(columns[1:]) == sends[1:]
    assert list(Sends.of([])) == []


def test_rounds_of_returns_the_sends_of_a_rank() -> None:
    plan = ring.plan([range(3)])
    whole = [[send for send in sends if 1 in (send.src, send.dst)] for sends in plan]
    assert list(plan.rounds_of(1)) == whole
    assert all(len(part) == 2 for part in whole)
