"""Deliveries on real sockets: a receiver that is down, fails, hangs and returns gets each message, with one key."""

import logging
import os
import signal
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from contract.lifecycle.notification import DeliveryStatus
from scheduler.clusters.local import Local
from scheduler.context import Context
from scheduler.notify import deliver, webhook
from scheduler.ticks.notify import notify
from store.notify.deliveries import CLAIM, FIRST_WAIT, GIVE_UP_AFTER, LONGEST_WAIT, claim, settle
from store.session import engine_for, snapshot, transaction
from store.tables.base import now
from store.tables.notify import NotifyDelivery, NotifyTarget
from tests.scheduler.notify.conftest import add_webhook, deliveries_of, make_due, make_older
from tests.testing.receiver import Receiver, serving


def add_message(context: Context, target_id: int, key: str = "msg_1") -> None:
    body = {"type": "test", "timestamp": now().isoformat(), "data": {"title": "a title", "text": "a text"}}
    with transaction(context.engine) as db:
        db.add(
            NotifyDelivery(key=key, target_id=target_id, target_name="hook", event="test", title="a title", body=body)
        )


def target_error(context: Context, target_id: int) -> str | None:
    with snapshot(context.engine) as db:
        return db.get_one(NotifyTarget, target_id).error


def test_a_receiver_that_is_down_gets_the_message_when_it_is_back(worker: Context) -> None:
    """Forces the fault: nobody listens on the port; later a server does."""
    receiver = Receiver()
    target_id = add_webhook(worker, receiver)
    add_message(worker, target_id)
    notify(worker)
    (waiting,) = deliveries_of(worker)
    assert (waiting.status, waiting.attempts) == (DeliveryStatus.WAITING, 1)
    assert waiting.error is not None
    assert "refused" in waiting.error
    assert target_error(worker, target_id) == waiting.error
    with serving(receiver):
        notify(worker)
        assert receiver.received == [], "it is not due yet"
        make_due(worker)
        notify(worker)
    (done,) = deliveries_of(worker)
    assert (done.status, done.attempts, done.error, receiver.keys) == (DeliveryStatus.DELIVERED, 2, None, ["msg_1"])
    assert target_error(worker, target_id) is None


def test_a_receiver_that_fails_gets_the_same_key_again(worker: Context, receiver: Receiver) -> None:
    """Forces the fault: the receiver answers 500, twice."""
    add_message(worker, add_webhook(worker, receiver))
    receiver.status = 500
    for _ in range(2):
        make_due(worker)
        notify(worker)
    assert [one.error for one in deliveries_of(worker)] == ["the server answered 500"]
    receiver.status = 200
    make_due(worker)
    notify(worker)
    assert receiver.keys == ["msg_1"] * 3
    assert all(one.is_signed for one in receiver.received)
    assert deliveries_of(worker)[0].status is DeliveryStatus.DELIVERED


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("fault", [{"hangs_s": 60.0}, {"drips": True}], ids=["hangs", "drips"])
def test_a_receiver_that_hangs_ends_the_attempt_and_holds_up_no_other_target(
    worker: Context, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, fault: dict[str, float]
) -> None:
    """Forces the fault: the receiver does not answer, or answers a byte now and then for ever."""
    monkeypatch.setattr(webhook.send_webhook, "__defaults__", (1.0,))
    for name, value in fault.items():
        setattr(receiver, name, value)
    with serving(Receiver()) as other:
        slow = add_webhook(worker, receiver, "slow")
        add_message(worker, slow, "msg_slow")
        add_message(worker, add_webhook(worker, other, "fast"), "msg_fast")
        began = time.monotonic()
        notify(worker)
        assert time.monotonic() - began < 30
        assert other.keys == ["msg_fast"]
    assert deliveries_of(worker)[0].error == "no answer within 1 s"


def test_a_redirect_is_not_followed(worker: Context, receiver: Receiver) -> None:
    """Forces what leads a request to another address than the one that was checked."""
    with serving(Receiver()) as other:
        receiver.status, receiver.headers = 307, {"location": other.url}
        add_message(worker, add_webhook(worker, receiver))
        notify(worker)
        assert other.received == []
    assert deliveries_of(worker)[0].error == "the server answered 307"


def test_a_receiver_that_wants_no_more_messages_gets_no_more(worker: Context, receiver: Receiver) -> None:
    receiver.status = 410
    add_message(worker, add_webhook(worker, receiver))
    notify(worker)
    (ended,) = deliveries_of(worker)
    assert (ended.status, ended.attempts) == (DeliveryStatus.GIVEN_UP, 1)
    assert ended.error == "the server answered 410: it wants no more messages"


@pytest.mark.ring("all")
def test_attempts_come_less_and_less_often_and_end_after_a_day_with_the_reason(
    worker: Context, receiver: Receiver
) -> None:
    receiver.status = 503
    add_message(worker, add_webhook(worker, receiver))
    waits = []
    while (one := deliveries_of(worker)[0]).status is DeliveryStatus.WAITING:
        make_older(worker, max(one.not_before - now(), timedelta(0)))
        before = now()
        notify(worker)
        waits.append(deliveries_of(worker)[0].not_before - before)
        assert len(waits) < 60
    assert (one.status, one.error) == (DeliveryStatus.GIVEN_UP, "the server answered 503")
    assert FIRST_WAIT <= waits[0] < 2 * FIRST_WAIT
    assert all(2 * FIRST_WAIT < wait <= LONGEST_WAIT + timedelta(minutes=1) for wait in waits[1:-1])
    assert GIVE_UP_AFTER - LONGEST_WAIT - timedelta(minutes=1) < now() - one.created_at < GIVE_UP_AFTER
    assert len(receiver.received) == one.attempts == len(waits)


def test_a_message_that_fails_does_not_hold_up_later_ones_of_its_target(worker: Context, receiver: Receiver) -> None:
    target_id = add_webhook(worker, receiver)
    add_message(worker, target_id, "msg_1")
    receiver.status = 500
    notify(worker)
    receiver.status = 200
    for number in (2, 3):
        add_message(worker, target_id, f"msg_{number}")
    notify(worker)
    assert receiver.keys == ["msg_1", "msg_2", "msg_3"]


def test_two_workers_send_a_message_once(worker: Context, receiver: Receiver) -> None:
    add_message(worker, add_webhook(worker, receiver))
    with transaction(worker.engine) as db:
        assert claim(db, 1)
    notify(worker)
    assert receiver.received == [], "another worker has claimed it"


def test_an_attempt_that_returns_after_its_claim_does_not_undo_a_later_one(worker: Context, receiver: Receiver) -> None:
    """Forces the fault: the answer of the first attempt arrives after the second one's."""
    add_message(worker, add_webhook(worker, receiver))
    with transaction(worker.engine) as db:
        first = claim(db, 1)
    make_due(worker)
    notify(worker)
    assert first is not None
    with transaction(worker.engine) as db:
        assert not settle(db, first, "too late")
    assert deliveries_of(worker)[0].status is DeliveryStatus.DELIVERED


def test_a_worker_killed_between_sending_and_storing_repeats_the_message_with_its_key(
    sqlite_engine: Engine, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: SIGKILL after the receiver has answered, before the worker has stored it."""
    worker = Context(sqlite_engine, {"local": Local()}, tmp_path / "runs", local_ranks=2, notify_hosts=["127.0.0.1"])
    add_message(worker, add_webhook(worker, receiver))
    url = str(sqlite_engine.url)
    sqlite_engine.dispose()
    child = os.fork()
    if child == 0:
        try:
            send = deliver.send

            def send_and_die(*arguments: Any) -> None:
                send(*arguments)
                os.kill(os.getpid(), signal.SIGKILL)

            monkeypatch.setattr(deliver, "send", send_and_die)
            engine_for.cache_clear()
            notify(replace(worker, engine=engine_for(url)))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert receiver.keys == ["msg_1"]
    (claimed,) = deliveries_of(worker)
    assert (claimed.status, claimed.attempts) == (DeliveryStatus.WAITING, 1)
    notify(worker)
    assert receiver.keys == ["msg_1"], "the claim has not expired"
    make_older(worker, CLAIM)
    notify(worker)
    assert receiver.keys == ["msg_1", "msg_1"]
    assert deliveries_of(worker)[0].status is DeliveryStatus.DELIVERED


def test_no_log_line_and_no_stored_error_has_a_secret(
    worker: Context, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    add_message(worker, add_webhook(worker, receiver))
    receiver.status = 500
    notify(worker)
    text = caplog.text + str(deliveries_of(worker)[0].error)
    assert "very-secret-token" not in text
    assert "whsec_" not in text
