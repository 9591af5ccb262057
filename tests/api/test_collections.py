"""The service's own objects are no work for the garbage collector."""

import gc

import pytest

from api.__main__ import freeze_objects


@pytest.mark.ring("all")
def test_present_objects_are_not_looked_at_again_and_new_ones_are() -> None:
    try:
        freeze_objects()
        assert gc.get_freeze_count() > 10_000
        new: list[object] = []
        new.append(new)
        assert any(one is new for one in gc.get_objects())
    finally:
        gc.unfreeze()
