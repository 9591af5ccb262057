"""The elastic and the asynchronous rules follow their equations, on real processes."""

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


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", [*SYNC, "original", "async"])
def test_without_gradient_center_and_replicas_keep_their_sum(name: str) -> None:
    ended = on_ranks(3, ranks.without_gradient, name, 7)
    total_N = sum(x_N for x_N, _ in ended) + ended[0][1]
    torch.testing.assert_close(total_N, 4 * START_N + 1 + 2 + 3, atol=1e-4, rtol=0)
    assert float((ended[0][1] - START_N).abs().min()) > 0.5  # the center has moved


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", [*SYNC, *SERVED])
def test_one_replica_follows_the_closed_form(name: str) -> None:
    """x - c shrinks by 1 - 2 alpha at every exchange, and x + c does not change."""
    [(x_N, c_N)] = on_ranks(1, ranks.without_gradient, name, 5)
    torch.testing.assert_close(x_N - c_N, torch.full_like(x_N, (1 - 2 * ALPHA) ** 5), atol=1e-5, rtol=0)
    torch.testing.assert_close(x_N + c_N, 2 * START_N + 1, atol=1e-5, rtol=0)


@pytest.mark.ring("all")
def test_every_kind_of_center_agrees_for_one_replica() -> None:
    """Async with one worker equals sync, also with momentum (MEASGD)."""
    ends = {name: on_ranks(1, ranks.trained, name, 0.9)[0] for name in [*SYNC, *SERVED]}
    for _, x_N, c_N in ends.values():
        torch.testing.assert_close(x_N, ends["sync2"][1])
        torch.testing.assert_close(c_N, ends["sync2"][2])


@pytest.mark.ring("all")
def test_overlap_and_repetition_change_no_bit() -> None:
    beside, after, again = (on_ranks(4, ranks.trained, name, 0.9, 2) for name in ("sync3", "sync2", "sync3"))
    for (_, x_N, c_N), (_, y_N, d_N), (losses, z_N, e_N) in zip(beside, after, again, strict=True):
        assert torch.equal(x_N, y_N)
        assert torch.equal(c_N, d_N)
        assert torch.equal(x_N, z_N)
        assert torch.equal(c_N, e_N)
        assert losses[-1] < 0.5 * losses[0]


@pytest.mark.ring("all")
def test_tree_center_and_replicated_center_agree_to_rounding() -> None:
    for (_, x_N, c_N), (_, y_N, d_N) in zip(
        on_ranks(3, ranks.trained, "sync1"), on_ranks(3, ranks.trained, "sync2"), strict=True
    ):
        torch.testing.assert_close(x_N, y_N, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(c_N, d_N, atol=1e-5, rtol=1e-4)


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", SERVED)
def test_served_centers_learn(name: str) -> None:
    """Check the final center and each worker's losses; rank 0's mean may contain an old loss of another worker."""
    (_, _, c_N), *workers = on_ranks(3, ranks.trained, name, 0.0, 1, 60)
    assert ranks.loss_at(c_N) < 0.2 * ranks.loss_at(START_N)
    assert all(losses[-1] < 0.2 * losses[0] for losses, _, _ in workers)


@pytest.mark.ring("all")
def test_elastic_momentum_follows_equations_5_and_6_on_a_falling_rate() -> None:
    rates, mu = [0.1, 0.05, 0.01], ranks.MOMENTUM
    v, w, c = 0.0, 1.0, 1.0
    for eta in rates:
        v, pull = mu * v - eta, eta * ranks.RHO * (w - c)
        w, c = w + v - pull, c + pull
    [(x_N, v_N, c_N)] = on_ranks(1, ranks.elastic_momentum, rates)
    assert [float(x_N), float(-v_N), float(c_N)] == pytest.approx([w, v, c], rel=1e-5)


@pytest.mark.ring("all")
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_asynchronous_sgd_of_one_worker_is_sgd(momentum: float) -> None:
    [(losses, w_N)] = on_ranks(1, ranks.descended, "async", momentum)
    wanted, want_N = ranks.plain(momentum)
    assert losses == pytest.approx(wanted, rel=1e-4)
    torch.testing.assert_close(w_N, want_N, atol=1e-5, rtol=1e-4)


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", ["async", "hogwild"])
def test_asynchronous_sgd_learns(name: str) -> None:
    """Check the final weights and each worker's losses."""
    (_, w_N), *workers = on_ranks(3, ranks.descended, name)
    assert ranks.loss_at(w_N) < 0.2 * ranks.loss_at(START_N)
    assert all(losses[-1] < 0.2 * losses[0] for losses, _ in workers)


def test_original_easgd_serves_each_rank_once_per_round_in_rank_order() -> None:
    """P exchanges per round are the baseline for the log2 P rounds of the tree."""
    results = on_ranks(4, ranks.record_order, "original", 5)[0]
    assert results == [0, 1, 2, 3] * 5


@pytest.mark.parametrize("world", [2, 3, 4, 8, 16, 64])
def test_a_tree_takes_log2_p_rounds(world: int) -> None:
    for half in (tree.reduce, tree.broadcast):
        rounds = list(half(range(world), range(1)))
        assert len(rounds) == ceil(log2(world))
        assert sum(map(len, rounds)) == world - 1


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", ["sync2", "sync3", "original"])
def test_a_resumed_run_continues_bit_identically(name: str) -> None:
    """The state has the center, the losses and the position within the period (2, after 9 steps)."""
    for (losses, x_N), (wanted, y_N) in on_ranks(2, ranks.resumed, name, 9):
        assert losses == wanted
        assert torch.equal(x_N, y_N)


@pytest.mark.ring("all")
@pytest.mark.parametrize(("name", "late"), [("sync1", 1), ("sync2", 0), ("sync3", 0)])
def test_all_ranks_receive_a_request_at_the_same_exchange_once(name: str, late: int) -> None:
    """The tree reduces a request in one exchange and broadcasts it in the next."""
    first, *others = on_ranks(3, ranks.send_request, name, 1, 4, 8)
    assert [step for step, *_ in first] == [4 + late]
    assert first[0][2] == pytest.approx(7 / 3)
    assert others == [first, first]


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", SERVED)
def test_a_served_replica_receives_only_rank_0_s_request_once(name: str) -> None:
    first, *others = on_ranks(3, ranks.send_request, name, 0, 4, 8)
    assert first == [[4, 0.0, 7.0]]
    for received in others:
        [(step, *requests)] = received
        assert step in (4, 5)
        assert requests == [0.0, 7.0]
    assert on_ranks(3, ranks.send_request, name, 1, 4, 8) == [[], [], []]


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", SERVED)
def test_a_killed_worker_is_reported_and_other_ranks_continue(name: str) -> None:
    """Forces SIGKILL of rank 2 between its steps."""
    (_, lost), (_, none), _ = on_ranks(3, ranks.lose_rank, name, 2, 40, signal.SIGKILL, victim=2)
    assert lost == [2]
    assert none is None


@pytest.mark.ring("all")
def test_the_death_of_rank_0_is_reported_with_its_rank() -> None:
    """Forces SIGKILL of rank 0 while the other ranks still have many steps."""
    _, first, second = on_ranks(3, ranks.lose_rank, "async", 0, 4000, signal.SIGKILL, victim=0)
    assert first == second == "rank 0, which serves the center, is gone"


@pytest.mark.ring("all")
def test_a_stopped_worker_blocks_the_round_robin_and_is_reported() -> None:
    """Forces SIGSTOP of rank 1: its exchange never begins, and rank 0 names the rank."""
    message, _, _ = on_ranks(3, ranks.lose_rank, "original", 1, 40, signal.SIGSTOP, victim=1)
    assert message == f"rank 1 did not reach the center for {ranks.SHORT_S:g} s"


@pytest.mark.ring("all")
def test_a_slow_worker_does_not_delay_other_ranks_of_async() -> None:
    """Forces a rank that waits until the other ranks have taken all their steps; a waiting rank would take a minute."""
    seconds = on_ranks(3, ranks.train_with_slow_rank, "async", 1)
    assert max(seconds[0], seconds[2]) < ranks.TIMEOUT_S


@pytest.mark.ring("all")
@pytest.mark.parametrize("name", ["async", "hogwild"])
def test_a_quadratic_problem_ends_within_the_bound(name: str) -> None:
    """With gradients x - t and noise of deviation s, SGD ends s sqrt(eta / 2) from t, and a center nearer to t."""
    far = on_ranks(3, ranks.train_on_quadratic, name, 400)[0]
    assert far < 0.3 * (ranks.RATE / 2) ** 0.5
