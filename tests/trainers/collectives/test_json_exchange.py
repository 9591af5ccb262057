"""Ranks exchange JSON values of limited size, and no pickles."""

from typing import Any

import pytest
import torch
import torch.distributed as dist

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.json_exchange import LIMIT_BYTES, broadcast_json, gather_json


def exchange() -> tuple[list[Any], Any, Any]:
    rank = dist.get_rank()
    own: Any = [None, "ä" * 1000, {"a": [1, 2.5]}][rank]
    subgroup = dist.new_group([2, 1])
    of_subgroup = broadcast_json(rank, subgroup) if rank else None
    return gather_json(own), broadcast_json(own or "first"), of_subgroup


def test_every_rank_gets_the_values_of_all_ranks() -> None:
    gathered = [None, "ä" * 1000, {"a": [1, 2.5]}]
    found = on_ranks(3, exchange)
    assert [all_values for all_values, _, _ in found] == [gathered] * 3
    assert [first for _, first, _ in found] == ["first"] * 3
    assert found[1][2] == found[2][2]


def exceed_the_limit() -> str:
    with pytest.raises(ValueError, match="exceeds the limit") as refused:
        gather_json("x" * LIMIT_BYTES)
    return str(refused.value)


def test_a_value_above_the_limit_is_not_sent() -> None:
    expected = f"a value of {LIMIT_BYTES + 2} bytes for other ranks exceeds the limit of {LIMIT_BYTES} bytes"
    assert on_ranks(2, exceed_the_limit) == [expected] * 2


def receive_from_forged_rank(forged: list[torch.Tensor]) -> str:
    if dist.get_rank() == 0:
        for tensor in forged:
            dist.broadcast(tensor, src=0)
        return ""
    with pytest.raises(ValueError, match="a rank") as refused:
        broadcast_json(None)
    return str(refused.value)


@pytest.mark.parametrize(
    ("forged", "reason"),
    [
        ([torch.tensor([LIMIT_BYTES + 1])], f"announces a value of {LIMIT_BYTES + 1} bytes"),
        ([torch.tensor([-1])], "announces a value of -1 bytes"),
        ([torch.tensor([4]), torch.tensor([0x80, 0x04, 0x4E, 0x2E], dtype=torch.uint8)], "sent 4 bytes that are not"),
    ],
    ids=["too long", "negative length", "a pickle of None"],
)
def test_what_a_forged_rank_sends_is_refused(forged: list[torch.Tensor], reason: str) -> None:
    """Forces a rank 0 that sends a wrong length, or a pickle, which is not loaded."""
    assert reason in on_ranks(2, receive_from_forged_rank, forged)[1]
