"""CollectiveState holds received parts, segment numbers, peers' answers and the failure of one set of connections."""

import pytest
import torch

from trainers.collectives.wire.collective_state import CollectiveState
from trainers.collectives.wire.frame import ABORT, DATA, SHARED, Frame
from trainers.collectives.wire.rank_lost import RankLost

PEER = 3


def receive(state: CollectiveState, body: bytes, *, segment: int = 0, message: int = 0) -> None:
    frame = Frame(DATA, message, segment, 0, len(body))
    state.buffer_for(PEER, frame)[:] = body
    state.store_body(PEER, frame)


def test_segments_are_numbered_over_all_calls() -> None:
    state = CollectiveState()
    assert [state.reserve_segments(count) for count in (3, 0, 2)] == [range(3), range(3, 3), range(3, 5)]
    assert state.next_segment == 5


def test_a_part_is_stored_until_it_is_taken() -> None:
    state, key = CollectiveState(), (4, PEER, 1)
    assert state.take_part(key) is None
    receive(state, b"part", segment=4, message=1)
    assert state.has_part(key)
    assert state.received_parts == 1
    part = state.take_part(key)
    assert part is not None
    assert bytes(part.memory[: part.nbytes].tolist()) == b"part"
    assert not part.is_in_place
    assert not state.has_part(key)


def test_a_released_buffer_is_reused() -> None:
    state = CollectiveState()
    addresses = []
    for _ in range(2):
        receive(state, b"part")
        part = state.take_part((0, PEER, 0))
        assert part is not None
        addresses.append(part.memory.data_ptr())
        state.release(part)
    assert addresses[0] == addresses[1]


def test_a_part_with_a_destination_is_received_in_place() -> None:
    state, vector_8 = CollectiveState(), torch.zeros(8, dtype=torch.uint8)
    state.use_destinations(lambda key: vector_8[2:6] if key == (0, PEER, 0) else None)
    receive(state, b"part")
    receive(state, b"more", message=1)
    part, other = state.take_part((0, PEER, 0)), state.take_part((0, PEER, 1))
    assert part is not None
    assert part.is_in_place
    assert bytes(vector_8.tolist()) == b"\0\0part\0\0"
    assert other is not None
    assert not other.is_in_place


def test_a_part_in_shared_memory_is_not_copied() -> None:
    state, memory_8 = CollectiveState(), torch.arange(8, dtype=torch.uint8)
    state.store_shared(PEER, Frame(SHARED, 0, 0, 2, 3), memory_8)
    part = state.take_part((0, PEER, 0))
    assert part is not None
    assert part.memory.tolist() == [2, 3, 4]
    assert part.memory.data_ptr() == memory_8[2:].data_ptr()


def test_changed_segments_are_returned_once() -> None:
    state = CollectiveState()
    receive(state, b"part", segment=2)
    state.mark_changed(1)
    assert state.take_changed() == {1, 2}
    assert state.take_changed() == set()


def test_the_answers_of_peers_count_until_the_next_ping() -> None:
    state = CollectiveState()
    state.record_probe()
    state.record_pong(PEER)
    assert (state.probes, state.responsive) == (1, {PEER})
    state.forget_pongs()
    assert state.responsive == set()


def test_a_peer_is_done_with_all_collectives_up_to_the_last_that_it_reported() -> None:
    state = CollectiveState()
    assert not state.is_done(PEER, 0)
    state.record_done(PEER, 4)
    assert state.is_done(PEER, 4)
    assert not state.is_done(PEER, 5)


def test_a_failure_is_raised_again() -> None:
    state = CollectiveState()
    state.raise_if_failed()
    state.fail(RankLost("rank 2 died", [2]))
    with pytest.raises(RankLost, match="rank 2 died"):
        state.raise_if_failed()


def test_the_body_of_an_abort_is_no_part() -> None:
    state, frame = CollectiveState(), Frame(ABORT, nbytes=2)
    state.buffer_for(PEER, frame)[:] = b"{}"
    assert state.read_body(PEER, frame) == b"{}"
    assert state.received_parts == 0
