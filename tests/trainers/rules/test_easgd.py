"""The elastic and the asynchronous rules, each against its equation, on real processes."""

import signal
from math import ceil, log2

import pytest
import torch

from tests.testing.trainers import easgd_ranks as ranks
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.plans import tree

SYNC, SERVED = ["sync1", "sync2", "sync3"], ["original", "async", "hogwild"]
ALPHA = ranks.RATE * ranks.RHO
START_N = torch.cat([p.detach().flatten() for p in ranks.net().parameters()])


@pytest.mark.parametrize("name", [*SYNC, "original", "async"])
def test_without_gradient_center_and_replicas_keep_their_sum(name: str) -> None:
    ended = on_ranks(3, ranks.without_gradient, name, 7)
    total_N = sum(x_N for x_N, _ in ended) + ended[0][1]
    torch.testing.assert_close(total_N, 4 * START_N + 1 + 2 + 3, atol=1e-4, rtol=0)
    assert float((ended[0][1] - START_N).abs().min()) > 0.5  # the center did move


@pytest.mark.parametrize("name", [*SYNC, *SERVED])
def test_one_replica_follows_the_closed_form(name: str) -> None:
    """x - c shrinks by 1 - 2 alpha at every exchange, and x + c stays."""
    [(x_N, c_N)] = on_ranks(1, ranks.without_gradient, name, 5)
    torch.testing.assert_close(x_N - c_N, torch.full_like(x_N, (1 - 2 * ALPHA) ** 5), atol=1e-5, rtol=0)
    torch.testing.assert_close(x_N + c_N, 2 * START_N + 1, atol=1e-5, rtol=0)


def test_every_kind_of_center_agrees_for_one_replica() -> None:
    """Async with one worker is sync, with momentum (MEASGD) as well."""
    ends = {name: on_ranks(1, ranks.trained, name, 0.9)[0] for name in [*SYNC, *SERVED]}
    for _, x_N, c_N in ends.values():
        torch.testing.assert_close(x_N, ends["sync2"][1])
        torch.testing.assert_close(c_N, ends["sync2"][2])


def test_overlap_changes_no_bit_and_a_repeat_none_either() -> None:
    beside, after, again = (on_ranks(4, ranks.trained, name, 0.9, 2) for name in ("sync3", "sync2", "sync3"))
    for (_, x_N, c_N), (_, y_N, d_N), (losses, z_N, e_N) in zip(beside, after, again, strict=True):
        assert torch.equal(x_N, y_N)
        assert torch.equal(c_N, d_N)
        assert torch.equal(x_N, z_N)
        assert torch.equal(c_N, e_N)
        assert losses[-1] < 0.5 * losses[0]


def test_the_tree_and_the_copies_agree_to_rounding() -> None:
    for (_, x_N, c_N), (_, y_N, d_N) in zip(
        on_ranks(3, ranks.trained, "sync1"), on_ranks(3, ranks.trained, "sync2"), strict=True
    ):
        torch.testing.assert_close(x_N, y_N, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(c_N, d_N, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", SERVED)
def test_served_centers_learn(name: str) -> None:
    """The center when all have ended, and each worker's own losses; rank 0's mean may have another's from long ago."""
    (_, _, c_N), *workers = on_ranks(3, ranks.trained, name, 0.0, 1, 60)
    assert ranks.loss_at(c_N) < 0.2 * ranks.loss_at(START_N)
    assert all(losses[-1] < 0.2 * losses[0] for losses, _, _ in workers)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_asynchronous_sgd_of_one_worker_is_sgd(momentum: float) -> None:
    [(losses, w_N)] = on_ranks(1, ranks.descended, "async", momentum)
    wanted, want_N = ranks.plain(momentum)
    assert losses == pytest.approx(wanted, rel=1e-4)
    torch.testing.assert_close(w_N, want_N, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["async", "hogwild"])
def test_asynchronous_sgd_learns(name: str) -> None:
    """The weights when all have ended, and each worker's own losses."""
    (_, w_N), *workers = on_ranks(3, ranks.descended, name)
    assert ranks.loss_at(w_N) < 0.2 * ranks.loss_at(START_N)
    assert all(losses[-1] < 0.2 * losses[0] for losses, _ in workers)


def test_the_original_talks_in_rank_order_and_once_to_each() -> None:
    """P talks to an exchange of all: what the tree's log2 P rounds are measured against."""
    told = on_ranks(4, ranks.talks, "original", 5)[0]
    assert told == [0, 1, 2, 3] * 5


@pytest.mark.parametrize("world", [2, 3, 4, 8, 16, 64])
def test_a_tree_takes_log2_p_rounds(world: int) -> None:
    for half in (tree.reduce, tree.broadcast):
        rounds = list(half(range(world), range(1)))
        assert len(rounds) == ceil(log2(world))
        assert sum(map(len, rounds)) == world - 1


@pytest.mark.parametrize("name", ["sync2", "sync3", "original"])
def test_a_resumed_run_goes_on_to_the_bit(name: str) -> None:
    """The center, the losses and the place within the period (2, after 9 steps) are saved."""
    for (losses, x_N), (wanted, y_N) in on_ranks(2, ranks.resumed, name, 9):
        assert losses == wanted
        assert torch.equal(x_N, y_N)


@pytest.mark.parametrize(("name", "late"), [("sync1", 1), ("sync2", 0), ("sync3", 0)])
def test_all_ranks_hear_a_wish_at_one_exchange_and_once(name: str, late: int) -> None:
    """Over the tree it is reduced in one exchange and broadcast in the next."""
    first, *others = on_ranks(3, ranks.wished, name, 1, 4, 8)
    assert [step for step, *_ in first] == [4 + late]
    assert first[0][2] == pytest.approx(7 / 3)
    assert others == [first, first]


@pytest.mark.parametrize("name", SERVED)
def test_a_served_replica_hears_the_keeper_s_wish_once_and_nobody_else_s(name: str) -> None:
    first, *others = on_ranks(3, ranks.wished, name, 0, 4, 8)
    assert first == [[4, 0.0, 7.0]]
    for heard in others:
        [(step, *wishes)] = heard
        assert step in (4, 5)
        assert wishes == [0.0, 7.0]
    assert on_ranks(3, ranks.wished, name, 1, 4, 8) == [[], [], []]


@pytest.mark.parametrize("name", SERVED)
def test_a_dead_worker_is_told_and_the_others_go_on(name: str) -> None:
    """Forces SIGKILL of rank 2 in the middle of its steps."""
    (_, lost), (_, none), _ = on_ranks(3, ranks.with_a_victim, name, 2, 40, signal.SIGKILL, victim=2)
    assert lost == [2]
    assert none is None


def test_the_keeper_s_death_is_told_by_name() -> None:
    """Forces SIGKILL of rank 0 in the middle of its steps, when the others have many more to take than it had."""
    _, first, second = on_ranks(3, ranks.with_a_victim, "async", 0, 4000, signal.SIGKILL, victim=0)
    assert first == second == "rank 0, which keeps the center, is gone"


def test_a_stopped_worker_holds_the_round_robin_and_is_named() -> None:
    """Forces SIGSTOP of rank 1: its turn never ends, and rank 0 says whose it is."""
    message, _, _ = on_ranks(3, ranks.with_a_victim, "original", 1, 40, signal.SIGSTOP, victim=1)
    assert message == f"rank 1 did not take its turn at the center for {ranks.SHORT_S:g} s"


def test_a_slow_worker_does_not_hold_the_others_of_async() -> None:
    """Forces a rank that stands still until the others have taken all their steps; who is awaited is for a minute."""
    seconds = on_ranks(3, ranks.beside_a_slow_one, "async", 1)
    assert max(seconds[0], seconds[2]) < ranks.TIMEOUT_S


@pytest.mark.parametrize("name", ["async", "hogwild"])
def test_a_convex_problem_ends_within_the_bound(name: str) -> None:
    """Gradients x - t under noise of deviation s: plain SGD ends s sqrt(eta / 2) from t, a center nearer."""
    far = on_ranks(3, ranks.on_a_bowl, name, 400)[0]
    assert far < 0.3 * (ranks.RATE / 2) ** 0.5
