"""Polls of a cluster: one worker at a time."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from contract.api.cluster_report import ClusterReport
from store import clusters, job_status
from store.session import transaction
from store.tables.base import now


@pytest.mark.parametrize(("ahead_s", "is_due"), [(-1.0, True), (15.0, False), (600.0, True)])
def test_a_clock_that_was_set_back_does_not_stop_polls(engine: Engine, ahead_s: float, is_due: bool) -> None:
    """Forces the fault: the moment of the next poll was stored by a clock that was ten minutes ahead."""
    with transaction(engine) as db:
        clusters.store_report(db, "slurm", ClusterReport(partitions=[], nodes=[], queue=[]), None)
        job_status.delay_poll(db, "slurm", now() + timedelta(seconds=ahead_s))
    with transaction(engine) as db:
        assert job_status.start_poll(db, "slurm", now() + timedelta(seconds=6.0)) is is_due
