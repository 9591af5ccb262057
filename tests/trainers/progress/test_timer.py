"""Every second of a step belongs to exactly one part."""

import pytest
import torch

from trainers.progress.timer import Timer


def test_the_parts_of_a_step_add_up_to_its_wall_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the clock, so that every second is known."""
    now = [100.0]
    monkeypatch.setattr("trainers.progress.timer.time.perf_counter", lambda: now[0])

    def pass_time(seconds: float) -> None:
        now[0] += seconds

    watch = Timer(torch.device("cpu"))
    communicate = watch.wrap("communication", pass_time)
    for _ in range(2):  # a second step starts from zero
        watch.start("compute")
        pass_time(1.0)
        with watch.measure("input"):
            pass_time(2.0)
            communicate(4.0)  # inside another part: not counted twice
            pass_time(8.0)
        communicate(16.0)
        pass_time(32.0)
        assert watch.stop().seconds() == {"compute": 33.0, "input": 10.0, "communication": 20.0}
