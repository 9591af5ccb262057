"""The import itself: experiments, runs and points go to the service; a repeated import changes nothing."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import NamedTuple

from bigbatch.client import Client
from bigbatch.importing.imported_run import ImportedRun


class StoredRun(NamedTuple):
    """A run that the service has, with the number of its points in this import."""

    id: int
    run: ImportedRun
    points: int
    is_new: bool


class Import:
    """An import into one experiment, which the same source and name give again."""

    def __init__(self, client: Client, name: str, source: str) -> None:
        self._client = client
        key = f"import-{sha256(f'{source}/{name}'.encode()).hexdigest()}"
        self.experiment_id = client.record(name[:200], source[:500], key=key)

    def store(self, runs: Iterable[ImportedRun]) -> Iterator[StoredRun]:
        """Store runs with their points; yield each when it is complete.

        Points that the service has are stored again with the same values, so an import that was cut goes on.
        """
        for run in runs:
            added = self._client.record_runs(self.experiment_id, [run.recorded()])
            (run_id,) = added.runs
            sender = self._client.point_sender(run_id)
            # several series to a batch: most have few points
            count = sender.send({name: (steps, values) for name, steps, values in run.columns()})
            yield StoredRun(run_id, run, count, bool(added.new))
