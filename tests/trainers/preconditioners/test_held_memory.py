"""The memory of K-FAC that a plan predicts is that of the tensors that K-FAC keeps."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from study.planner.memory import kfac_bytes
from trainers.preconditioners.assignment import assign
from trainers.preconditioners.kfac import KFAC
from trainers.preconditioners.options import KFACOptions, Method
from trainers.preconditioners.shapes import BlockShape, total_factor_words
from trainers.preconditioners.words import held_words


@pytest.mark.ring("all")
@pytest.mark.parametrize("method", ["eigen", "inverse"])
def test_a_rank_stores_the_factors_and_the_decompositions_that_are_counted(method: Method) -> None:
    torch.manual_seed(1)
    net = nn.Sequential(nn.Embedding(11, 6), nn.Flatten(), nn.Linear(18, 7), nn.ReLU(), nn.Linear(7, 5))
    kfac = KFAC(net, KFACOptions(method=method))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    kfac.attach(optimizer)
    cross_entropy(net(torch.randint(11, (8, 3))), torch.randint(5, (8,))).backward()
    optimizer.step()
    assert kfac.inverses.decomposed_F is not None
    message = kfac.factors.make_message()
    factors = kfac.factors.average_F.nbytes + kfac.inverses.decomposed_F.nbytes + sum(part.nbytes for part in message)
    inverses = sum(
        tensor.nbytes for one in kfac.inverses._of.values() for tensor in (one.values, one.matrix) if tensor is not None
    )
    assignment = assign(kfac.blocks, world=1, fraction=1.0)
    held = held_words(kfac.blocks, assignment, method=method)
    counted = kfac_bytes(total_factor_words(kfac.blocks), held, message_bytes=4)
    assert (counted.factors, counted.inverses) == (factors, inverses)


@pytest.mark.parametrize(("fraction", "holders"), [(1.0, 4), (0.5, 2), (0.0, 1)])
def test_the_rank_with_the_most_decompositions_is_counted(fraction: float, holders: int) -> None:
    blocks = [BlockShape(str(n), n, n + 3) for n in (40, 9, 30, 25, 4)]
    assignment = assign(blocks, world=4, fraction=fraction)
    assert len(assignment.rows) == holders
    of_column = [
        sum(blocks[b].inputs ** 2 + blocks[b].outputs ** 2 for b in assignment.blocks_of(column))
        for column in range(len(assignment.columns))
    ]
    assert held_words(blocks, assignment, method="inverse") == max(of_column)
