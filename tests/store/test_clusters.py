"""What clusters say, told by several workers at once and by workers that do not have the same clusters."""

import threading
import time
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from contract.api.cluster_report import ClusterReport
from store import clusters
from store.session import snapshot, transaction

REPORT = ClusterReport(partitions=[], nodes=[], queue=[])


def test_two_workers_that_are_the_first_to_tell_of_a_cluster_both_have_told(engine: Engine) -> None:
    """Forces the race: the second tells while the first has not committed."""

    def tell() -> None:
        with transaction(engine) as db:
            clusters.store_report(db, "slurm", None, "no answer")

    second = threading.Thread(target=tell)
    with transaction(engine) as db:
        clusters.store_report(db, "slurm", REPORT, None)
        second.start()
        time.sleep(0.2)
        assert second.is_alive(), "it waits for the first"
    second.join()
    with snapshot(engine) as db:
        (row,) = clusters.reports(db)
    assert (row.error, ClusterReport.model_validate(row.report)) == ("no answer", REPORT)


def test_a_worker_without_a_cluster_does_not_forget_what_another_tells_of_it(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for forgotten_after, known in ((clusters.DELETED_AFTER, ["local", "slurm"]), (timedelta(0), ["local"])):
        monkeypatch.setattr(clusters, "DELETED_AFTER", forgotten_after)
        with transaction(sqlite_engine) as db:
            for kind in ("local", "slurm"):
                clusters.store_report(db, kind, REPORT, None)
        with transaction(sqlite_engine) as db:
            clusters.delete_others(db, ["local"])
            assert [row.kind for row in clusters.reports(db)] == known
