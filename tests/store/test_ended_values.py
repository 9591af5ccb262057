"""Signed values that ended: once each, in the order of the database, until they have expired for long."""

import time
from collections.abc import Sequence

import pytest
from sqlalchemy import Engine, select

from store.ended_values import KEPT_FOR, end, has_ended
from store.session import snapshot, transaction
from store.tables.service import EndedValue

DAY_S = KEPT_FOR.total_seconds()


def stored(engine: Engine) -> Sequence[str]:
    with snapshot(engine) as db:
        return db.scalars(select(EndedValue.nonce).order_by(EndedValue.nonce)).all()


@pytest.mark.ring("gate")
def test_a_value_ends_once(engine: Engine) -> None:
    expires_at = int(time.time()) + 60
    found = []
    for nonce in ("a", "a", "b"):
        with transaction(engine) as db:
            found.append(end(db, nonce, expires_at))
    assert found == [True, False, True]
    with snapshot(engine) as db:
        assert [has_ended(db, nonce) for nonce in ("a", "b", "c")] == [True, True, False]


@pytest.mark.ring("gate")
def test_a_row_goes_when_its_value_has_expired_for_long(engine: Engine) -> None:
    present = int(time.time())
    for nonce, age_s in (("lately", DAY_S - 60), ("not yet", -60), ("long ago", DAY_S + 60)):
        with transaction(engine) as db:
            end(db, nonce, present - int(age_s))
    assert stored(engine) == ["lately", "long ago", "not yet"]
    with transaction(engine) as db:
        end(db, "new", present + 60)
    assert stored(engine) == ["lately", "new", "not yet"]
