"""Python's garbage collector is off while events are read, and has its former state afterwards."""

import gc

import pytest

from scheduler.events.collector import garbage_collection_paused


@pytest.mark.parametrize("was_enabled", [True, False])
def test_the_collector_has_its_former_state_after_an_end_or_an_error(was_enabled: bool) -> None:
    (gc.enable if was_enabled else gc.disable)()
    try:
        with garbage_collection_paused():
            assert not gc.isenabled()
        assert gc.isenabled() == was_enabled
        with pytest.raises(ZeroDivisionError), garbage_collection_paused():
            print(1 / 0)
        assert gc.isenabled() == was_enabled
    finally:
        gc.enable()
