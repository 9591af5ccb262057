"""Divergence: a run whose loss leaves the band of its group is noted once; noise and small groups are not."""

import math
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from sqlalchemy import func, select, update

from contract.folder.events import Points as Reported
from contract.lifecycle.notification import NotifyEvent
from contract.spec.expanded import read_experiment
from scheduler.context import Context
from scheduler.notify.compare_curves import find_divergences
from scheduler.notify.divergence import POINTS, leaves_band
from scheduler.search.curve import Curve
from scheduler.ticks.notify import notify
from store.lifecycle import creation, deletion
from store.metrics.points import put_many
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.notify import Divergence, Occurrence
from store.tables.runs import Run
from tests.scheduler.notify.conftest import add_webhook
from tests.testing.receiver import Receiver
from tests.testing.runs import start_job
from tests.testing.specs import small_experiment


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no tick end early, however slow the machine is."""
    monkeypatch.setattr("scheduler.notify.compare_curves.BUDGET_S", 1000.0)


def curve(values: Sequence[float], steps: Sequence[int] | None = None) -> Curve:
    return Curve(steps or range(len(values)), [value if math.isfinite(value) else None for value in values])


def flat(*values: float) -> list[Curve]:
    return [curve([value] * 10) for value in values]


def test_the_last_point_of_enough_successive_ones_beyond_the_band_is_found() -> None:
    found = leaves_band(curve([1.0] * 5 + [2.0] * POINTS), flat(0.9, 1.0, 1.1, 1.0))
    assert found is not None
    # the median is 1, the median absolute deviation 0.05: 1 + 6 x 1.4826 x 0.05
    assert (found.step, found.value, found.median, found.others) == (9, 2.0, 1.0, 4)
    assert found.end == pytest.approx(1 + 6 * 1.4826 * 0.05)


@pytest.mark.parametrize(
    ("own", "others"),
    [
        ([1.0] * 6 + [2.0] * (POINTS - 1), (0.9, 1.0, 1.1, 1.0)),  # a point too few
        ([1.0] * 5 + [2.0] * 2 + [1.0] + [2.0] * 2, (0.9, 1.0, 1.1, 1.0)),  # one of them is within
        ([1.0] * 5 + [2.0] * POINTS, (0.9, 1.0, 1.1)),  # too few others
        ([1.0] * 5 + [2.0] * POINTS, (0.9, 1.0, 1.1, math.nan)),  # one of which has no number
        ([1.0] * 5 + [0.1] * POINTS, (0.9, 1.0, 1.1, 1.0)),  # better than the others
        ([1.0] * 5 + [1.29] * POINTS, (1.0, 1.0, 1.0, 1.0)),  # a band without width has at least 30 % of the median
        ([1.0] * 5 + [math.nan] * POINTS, (0.9, 1.0, 1.1, 1.0)),  # an anomaly of its own
        ([1.0] * 5 + [2.0] * POINTS, (0.5, 1.0, 1.5, 2.0, 2.5)),  # the others are as far apart
    ],
)
def test_what_is_no_divergence(own: list[float], others: Sequence[float]) -> None:
    assert leaves_band(curve(own), flat(*others)) is None


def test_two_of_five_others_that_diverge_as_well_hide_nothing() -> None:
    assert leaves_band(curve([5.0] * POINTS), flat(1.0, 1.05, 0.95, 80.0, 90.0)) is not None


def test_others_that_report_less_often_count_with_their_point_before() -> None:
    others = [curve([1.0, 1.0], [0, 3]) for _ in range(4)]
    assert leaves_band(curve([2.0] * POINTS), others) is not None


def noisy(seed: int, steps: int, *, floor: float = 0.3) -> list[float]:
    """Return a loss that falls as those of nets do, with noise that has a heavy tail."""
    dice = random.Random(seed)
    noise = np.random.default_rng(seed).standard_t(3, steps)
    rate = dice.uniform(0.01, 0.02)
    return [
        max(0.01, (2.3 - floor) * math.exp(-rate * step) + floor) * (1 + 0.1 * noise[step]) for step in range(steps)
    ]


@pytest.mark.ring("all")
def test_noise_with_a_heavy_tail_raises_no_alarm() -> None:
    alarms, looks = 0, 0
    for group in range(10):
        losses = [noisy(100 * group + run, 400) for run in range(8)]
        for at in range(POINTS, 400, 4):
            so_far = [curve(each[:at]) for each in losses]
            for own in range(8):
                alarms += leaves_band(so_far[own], [each for run, each in enumerate(so_far) if run != own]) is not None
                looks += 1
    assert looks > 7_000
    assert alarms == 0


def test_a_loss_that_climbs_is_found_within_some_steps_in_every_group() -> None:
    for group in range(20):
        losses = [noisy(100 * group + run, 400) for run in range(8)]
        losses[0] = [*losses[0][:200], *(value * 1.05**step for step, value in enumerate(losses[0][200:]))]
        found = next(
            at
            for at in range(POINTS, 400)
            if leaves_band(curve(losses[0][:at]), [curve(each[:at]) for each in losses[1:]])
        )
        assert 200 < found < 260, "the loss has grown to 19 times its value after 60 steps"


def make_group(context: Context, size: int, on: list[str] | None = None) -> list[int]:
    """Create an experiment with running runs and, unless `on` is empty, a rule; return the ids of its runs."""
    document = small_experiment({"seed": list(range(size))}).spec.model_dump(mode="json")
    rules = [{"target": "hook", "on": on}] if on else []
    with transaction(context.engine) as db:
        _, ids = creation.create(db, read_experiment({**document, "notify": rules}))
        for run_id in ids:
            start_job(db, run_id)
    return ids


def report(context: Context, losses: Mapping[int, float], steps: range, name: str = "loss") -> None:
    """Store a point of each step for runs by their ids."""
    events = {
        id_: [Reported(attempt=1, at=0.0, step=step, values={name: loss}) for step in steps]
        for id_, loss in losses.items()
    }
    with transaction(context.engine) as db:
        put_many(db, events)
        for run_id, loss in losses.items():
            run = db.get_one(Run, run_id)
            run.step, run.latest = steps[-1], {name: loss}


def noted(context: Context) -> list[int | None]:
    with snapshot(context.engine) as db:
        return list(db.scalars(select(Occurrence.run_id).where(Occurrence.event == NotifyEvent.ANOMALY)))


def test_a_run_that_leaves_its_group_sends_one_message(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    ids = make_group(worker, 6, on=["anomaly"])
    report(worker, dict.fromkeys(ids, 1.0), range(1, 20))
    find_divergences(worker)
    assert noted(worker) == []
    report(worker, dict.fromkeys(ids[1:], 0.5) | {ids[0]: 4.0}, range(20, 40))
    find_divergences(worker)
    find_divergences(worker)
    assert noted(worker) == [ids[0]]
    notify(worker)
    assert receiver.types == ["run.anomaly"]
    text = receiver.received[0].body["data"]["text"]
    assert (
        "it has left the curves of its group: loss 4 at step 39, beyond 0.65; the median of 5 other runs is 0.5" in text
    )
    report(worker, dict.fromkeys(ids[1:], 0.4) | {ids[0]: 9.0}, range(40, 60))
    find_divergences(worker)
    assert noted(worker) == [], "it was noted once"


def test_a_comparison_that_fails_is_made_again(
    worker: Context, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the curves of a run cannot be read once."""
    add_webhook(worker, receiver)
    ids = make_group(worker, 6, on=["anomaly"])
    report(worker, dict.fromkeys(ids[1:], 0.5) | {ids[0]: 4.0}, range(1, 40))
    with monkeypatch.context() as patch:
        patch.setattr("scheduler.notify.compare_curves._compare", lambda *_: 1 / 0)
        find_divergences(worker)
    assert noted(worker) == []
    find_divergences(worker)
    assert noted(worker) == [ids[0]]


def test_a_run_that_is_ahead_is_compared_once_its_group_has_got_there(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    ids = make_group(worker, 6, on=["anomaly"])
    report(worker, dict.fromkeys(ids, 1.0), range(1, 20))
    report(worker, {ids[0]: 4.0}, range(20, 5_000))  # over more than a chunk
    find_divergences(worker)
    assert noted(worker) == []
    report(worker, dict.fromkeys(ids[1:], 1.0), range(20, 30))
    find_divergences(worker)
    assert noted(worker) == [ids[0]]


@pytest.mark.parametrize(("size", "on"), [(4, ["anomaly"]), (6, ["end"]), (6, None)])
def test_a_small_group_and_one_without_a_rule_are_not_compared(
    worker: Context, receiver: Receiver, size: int, on: list[str] | None
) -> None:
    add_webhook(worker, receiver)
    ids = make_group(worker, size, on=on)
    report(worker, dict.fromkeys(ids[1:], 0.5) | {ids[0]: 4.0}, range(1, 40))
    find_divergences(worker)
    with snapshot(worker.engine) as db:
        assert db.scalar(select(func.count()).select_from(Divergence)) == 0


def test_an_accuracy_is_no_loss(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    ids = make_group(worker, 6, on=["anomaly"])
    report(worker, dict.fromkeys(ids[1:], 0.2) | {ids[0]: 0.9}, range(1, 40), name="accuracy")
    find_divergences(worker)
    assert noted(worker) == []


def test_the_row_of_a_deleted_run_is_removed(worker: Context, receiver: Receiver) -> None:
    add_webhook(worker, receiver)
    ids = make_group(worker, 6, on=["anomaly"])
    report(worker, dict.fromkeys(ids[1:], 0.5) | {ids[0]: 4.0}, range(1, 40))
    find_divergences(worker)
    with transaction(worker.engine) as db:
        db.execute(update(Run).where(Run.id == ids[0]).values(deleted_at=now()))
        assert deletion.remove_rows(db, ids[0], 1_000)
        assert db.scalar(select(func.count()).select_from(Divergence)) == 0
