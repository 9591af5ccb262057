"""How the jobs of runs are: asked at once of this machine, as `look` stored it of any other cluster."""

from collections.abc import Sequence

from contract.spec.retry import Cause
from scheduler.clusters.cluster import Alive, Answer, Gone, Unknown
from scheduler.context import Site, held
from store.runs import LiveRun
from store.tables import Run


def answers(site: Site, kind: str, live: Sequence[Run] | Sequence[LiveRun]) -> dict[int, Answer]:
    """Answer for the job of every run, by the run's id."""
    cluster = site.clusters.get(kind)
    if not cluster:
        return dict.fromkeys((run.id for run in live), Unknown("this service has no such cluster now"))
    if not cluster.is_here:
        return {run.id: _stored(run) for run in live}
    told = cluster.ask([held(run) for run in live])
    return {run.id: told[held(run)] for run in live}


def _stored(run: Run | LiveRun) -> Answer:
    if run.gone_reason is not None:
        return Gone(run.gone_reason, Cause(run.gone_cause or Cause.LOST))
    return Unknown("its cluster does not answer") if run.unknown_since else Alive(run.waits_for)
