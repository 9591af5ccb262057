"""The client's methods for runs that were carried out elsewhere, and for points that a client sends."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bigbatch.connection import Connection
from contract.api.incoming.points_batch import NewPoints, PointsBatch, PointsReceived, Writers
from contract.api.incoming.recording import RecordedRun, RecordedRuns, RecordedRunsRequest, Recording, RecordingRequest

Columns = Mapping[str, tuple[Sequence[int], Sequence[float]]]  # steps and values of series
POINTS = 50_000  # of a batch: about a megabyte


class PointSender:
    """Sends points of one run in numbered batches; a batch that is sent twice is stored once."""

    def __init__(self, connection: Connection, run_id: int, writer: str, first: int) -> None:
        self._connection, self._path, self._writer = connection, f"/runs/{run_id}/points", writer
        self._next = first  # number of the next batch
        self._unconfirmed = b""  # a batch without an answer: it may be stored, so its number is used for it alone

    def send(self, series: Columns) -> int:
        """Send points of series, each as steps and values; return how many points there were.

        After an error the same points can be sent again.
        """
        if self._unconfirmed:
            self._post(self._unconfirmed)
        count = 0
        for part in _parts(series):
            batch = PointsBatch.model_construct(sequence=self._next, writer=self._writer, series=part)
            self._post(batch.model_dump_json().encode())
            count += sum(len(one.steps) for one in part.values())
        return count

    def _post(self, batch: bytes) -> None:
        self._unconfirmed = batch
        answer = self._connection.post_safely(self._path, PointsReceived, content=batch, kind="application/json")
        self._unconfirmed, self._next = b"", answer.next


class RecordingClient:
    """The methods; `Client` has the connection."""

    _connection: Connection

    def record(self, name: str, source: str, *, key: str | None = None, **labels: Any) -> int:
        """Store an experiment for runs that were carried out elsewhere; return its id.

        With a `key` the same request gives the same experiment. `labels`: description, notes, owner, project, tags.
        """
        request = RecordingRequest(name=name, source=source, **labels)
        content = request.model_dump_json().encode()
        return self._connection.post_once("/recordings", Recording, content=content, key=key).id

    def record_runs(self, experiment_id: int, runs: Sequence[RecordedRun | Mapping[str, Any]]) -> RecordedRuns:
        """Store runs of such an experiment, as done; a run whose `key` the experiment has stays as it is."""
        request = RecordedRunsRequest.model_validate({"runs": list(runs)})
        return self._connection.change("POST", f"/recordings/{experiment_id}/runs", RecordedRuns, request)

    def point_sender(self, run_id: int, writer: str = "") -> PointSender:
        """Return what sends points of a program's run, or of one that was carried out elsewhere.

        `writer` distinguishes processes that send points of one run at once.
        """
        known = self._connection.get(f"/runs/{run_id}/writers", Writers)
        return PointSender(self._connection, run_id, writer, known.next.get(writer, 1))


def _parts(series: Columns) -> Iterator[dict[str, NewPoints]]:
    """Yield the points in parts of a bounded size, each series in its order."""
    part: dict[str, NewPoints] = {}
    room = POINTS
    for name, (steps, values) in series.items():
        at = 0
        while at < len(steps):
            end = min(len(steps), at + room)
            part[name] = NewPoints.model_construct(steps=list(steps[at:end]), values=list(values[at:end]))
            room -= end - at
            at = end
            if not room:
                yield part
                part, room = {}, POINTS
    if part:
        yield part
