"""Whose turn it is to look at a cluster."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from contract.api.cluster_report import ClusterReport
from store import clusters
from store import job_status as looks
from store.session import transaction
from store.tables import now


@pytest.mark.parametrize(("ahead_s", "is_due"), [(-1.0, True), (15.0, False), (600.0, True)])
def test_a_clock_that_was_set_back_keeps_nobody_from_looking(engine: Engine, ahead_s: float, is_due: bool) -> None:
    """Forces the fault: the moment of the next look was noted by a clock that was ten minutes ahead."""
    with transaction(engine) as db:
        clusters.put(db, "slurm", ClusterReport(partitions=[], nodes=[], queue=[]), None)
        looks.put_off(db, "slurm", now() + timedelta(seconds=ahead_s))
    with transaction(engine) as db:
        assert looks.turn(db, "slurm", now() + timedelta(seconds=6.0)) is is_due
