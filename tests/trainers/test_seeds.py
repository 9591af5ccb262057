"""Seeds: draws that are alike on all ranks, and a rank's own generators, which go on as if nothing had been drawn."""

import random

import numpy as np
import torch

from trainers.generators.seeds import alike, draw_alike, seed_alike, seed_generators


def draw() -> list[float]:
    """Draw from every generator; NumPy and Python store the second of two normal numbers."""
    return [random.gauss(0, 1), float(np.random.randn()), float(torch.randn(())), random.random(), np.random.rand()]


def test_a_purpose_is_seeded_alike_whatever_was_drawn_before() -> None:
    found = []
    for rank in range(2):
        seed_generators(7, rank=rank, step=0)
        seed_alike(7, "data")
        found.append(draw())
    assert found[0] == found[1]


def test_the_seed_the_purpose_and_the_step_decide_what_is_drawn() -> None:
    found = []
    for seed, purpose, step in [(7, "data", 0), (8, "data", 0), (7, "model", 0), (7, "data", 1)]:
        with alike(seed, purpose, step=step):
            found.append(draw())
    numbers = [number for one in found for number in one]
    assert len(set(numbers)) == len(numbers)


def test_after_draws_alike_a_rank_draws_what_it_would_have_drawn_without_them() -> None:
    seed_generators(7, rank=1, step=0)
    draw()
    expected = draw()
    seed_generators(7, rank=1, step=0)
    draw()
    with alike(7, "optimizer step", step=3):
        draw()
    assert draw() == expected


class Drawing(torch.optim.SGD):
    """Stores what it draws."""

    def __init__(self) -> None:
        super().__init__([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
        self.drawn: list[list[float]] = []

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        self.drawn.append(draw())


def test_an_optimizer_draws_alike_in_the_same_step_on_every_rank_and_in_a_resumed_run() -> None:
    steps, drawn = iter([0, 1, 1]), []
    for rank, count in [(0, 2), (1, 1)]:  # rank 1 begins at step 1
        seed_generators(7, rank=rank, step=0)
        expected = draw()
        seed_generators(7, rank=rank, step=0)
        optimizer = Drawing()
        draw_alike(optimizer, 7, step=lambda: next(steps))
        for _ in range(count):
            optimizer.step()
        drawn.append(optimizer.drawn)
        assert draw() == expected, "dropout draws as without the optimizer's draws"
    assert drawn[0][1] == drawn[1][0] != drawn[0][0]
