"""The service's clock: the database's, whatever the clock of this machine says."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from store import clock
from store.session import engine_for, snapshot
from tests.testing.databases import new_database


@pytest.mark.postgres
def test_the_databases_clock_counts_and_not_this_machines(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: this machine's clock is ten minutes ahead of what it told before."""
    url = new_database(postgres_server, "clock")
    monkeypatch.setattr(clock, "_reading", (datetime.now(UTC) + timedelta(minutes=10), time.monotonic()))
    assert clock.now() - datetime.now(UTC) > timedelta(minutes=9)
    with snapshot(engine_for(url)):
        assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=5)
