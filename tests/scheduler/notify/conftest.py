"""A worker that may send to this machine, a target, and what is stored of its messages."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from contract.api.notify.targets import NewTarget
from contract.lifecycle.notification import TargetKind
from scheduler.context import Context
from store.notify.targets import add_target
from store.session import snapshot, transaction
from store.tables.notify import NotifyDelivery
from tests.testing.receiver import SECRET, Receiver, serving


@pytest.fixture
def worker(context: Context) -> Context:
    return replace(context, notify_hosts=["127.0.0.0/8"], public_url="https://bigbatch.example.org")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with serving(Receiver()) as receiver:
        yield receiver


def add_webhook(context: Context, receiver: Receiver, name: str = "hook") -> int:
    """Store a webhook that leads to the receiver; return its id."""
    new = NewTarget.model_validate(
        {"name": name, "kind": TargetKind.WEBHOOK, "address": receiver.url, "secret": SECRET}
    )
    with transaction(context.engine) as db:
        return add_target(db, new, "ada").id


def deliveries_of(context: Context) -> list[NotifyDelivery]:
    """Return all deliveries, oldest first."""
    with snapshot(context.engine) as db:
        return list(db.query(NotifyDelivery).order_by(NotifyDelivery.id))


def make_due(context: Context) -> None:
    """Let all waiting deliveries be due, and all claims expire."""
    with transaction(context.engine) as db:
        db.execute(update(NotifyDelivery).values(not_before=NotifyDelivery.created_at))


def make_older(context: Context, by: timedelta) -> None:
    """Let all deliveries be made earlier."""
    for one in deliveries_of(context):
        with transaction(context.engine) as db:
            values = {"created_at": one.created_at - by, "not_before": one.not_before - by}
            db.execute(update(NotifyDelivery).where(NotifyDelivery.id == one.id).values(values))
