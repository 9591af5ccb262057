"""StepTimer: the parts of a step add up to its wall time, and only the training's own thread counts."""

import threading
import time

import pytest

from bigbatch.injected.parts import COMMUNICATION_S, INPUT_S, MEASURED_PARTS, UPDATE_S
from bigbatch.injected.step_timer import StepTimer


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def started() -> StepTimer:
    timer = StepTimer()
    timer.end_step()  # what precedes the first update is not measured
    return timer


def spend(timer: StepTimer, clock: list[float], part: str, seconds: float) -> None:
    before = timer.enter(part)
    clock[0] += seconds
    timer.leave(before)


def test_what_no_call_measures_is_compute(clock: list[float]) -> None:
    timer = started()
    spend(timer, clock, INPUT_S, 1)
    clock[0] += 5
    spend(timer, clock, COMMUNICATION_S, 2)
    spend(timer, clock, UPDATE_S, 3)
    timer.end_step()
    assert dict(zip(MEASURED_PARTS, timer.take_ended()[0][1], strict=True)) == {
        "compute_s": 5,
        "update_s": 3,
        "communication_s": 2,
        "input_s": 1,
    }


def test_a_part_inside_another_part_counts_once(clock: list[float]) -> None:
    timer = started()
    update = timer.enter(UPDATE_S)
    clock[0] += 1
    spend(timer, clock, COMMUNICATION_S, 10)
    outer = timer.enter(COMMUNICATION_S)
    spend(timer, clock, COMMUNICATION_S, 20)
    timer.leave(outer)
    clock[0] += 2
    timer.leave(update)
    timer.end_step()
    assert timer.take_ended() == [(2, [0, 3, 30, 0])]


def test_each_step_is_returned_once_with_its_number(clock: list[float]) -> None:
    timer = started()
    for _ in range(3):
        clock[0] += 1
        timer.end_step()
    assert [step for step, _ in timer.take_ended()] == [2, 3, 4]
    assert timer.take_ended() == []


def test_calls_of_other_threads_do_not_count(clock: list[float]) -> None:
    """A thread reads batches ahead, while the training computes."""
    timer = started()
    reader = threading.Thread(target=spend, args=(timer, clock, INPUT_S, 7))
    reader.start()
    reader.join()
    timer.end_step()
    assert timer.take_ended() == [(2, [7, 0, 0, 0])]


def test_an_error_of_the_device_switches_the_timer_off_and_reaches_no_program(clock: list[float]) -> None:
    class BrokenDevice:
        def is_current_stream_capturing(self) -> bool:
            raise RuntimeError("the device is lost")

    timer = started()
    timer.end_step(BrokenDevice())
    spend(timer, clock, INPUT_S, 1)
    assert timer.is_off
    assert timer.take_ended() == []


class Event:
    """An event of a GPU: the device has done everything up to `done_s`."""

    def __init__(self, device: "Device") -> None:
        self._device, self.at_s = device, 0.0

    def record(self) -> None:
        self.at_s = self._device.clock[0]

    def query(self) -> bool:
        return self.at_s <= self._device.done_s

    def elapsed_time(self, until: "Event") -> float:
        return 1000 * (until.at_s - self.at_s)


class Device:
    """The part of torch.cuda that the timer uses, with a device whose progress the test sets."""

    def __init__(self, clock: list[float]) -> None:
        self.clock, self.done_s, self.stream, self.events = clock, 0.0, "training", 0

    def is_current_stream_capturing(self) -> bool:
        return False

    def current_stream(self) -> str:
        return self.stream

    def Event(self, *, enable_timing: bool) -> Event:  # noqa: N802
        self.events += 1
        return Event(self)


def test_steps_of_a_gpu_are_read_when_the_device_has_done_them(clock: list[float]) -> None:
    device, timer = Device(clock), StepTimer()
    timer.end_step(device)
    spend(timer, clock, COMMUNICATION_S, 2)
    timer.end_step(device)
    device.done_s = 1
    assert timer.take_ended() == []
    device.done_s = 2
    assert timer.take_ended() == [(2, [0, 0, 2, 0])]


def test_collectives_in_another_stream_of_a_gpu_overlap_and_do_not_count(clock: list[float]) -> None:
    device, timer = Device(clock), StepTimer()
    timer.end_step(device)
    device.stream = "unshard"
    spend(timer, clock, COMMUNICATION_S, 2)
    device.stream = "training"
    timer.end_step(device)
    device.done_s = 9
    assert timer.take_ended() == [(2, [2, 0, 0, 0])]


def test_events_of_a_gpu_are_used_again(clock: list[float]) -> None:
    device, timer = Device(clock), StepTimer()
    device.done_s = 1e9
    for _ in range(100):
        spend(timer, clock, INPUT_S, 1)
        timer.end_step(device)
        timer.take_ended()
    assert device.events < 10
