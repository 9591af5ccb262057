"""Reporter: append the events of an attempt to the events file as whole lines. Only rank 0 writes."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from contract import metric_names
from contract.folder.auto_choice import CollectiveChoices
from contract.folder.events import CollectivesChosen, Event, Failed, Finished, Paused, Points, Resumed, Saved, Started
from contract.folder.lost_rank import LostRank
from contract.folder.rank_failure import RankFailure
from contract.folder.rank_times import COLUMNS
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from runfiles.event_lines import append_lines, open_for_lines
from runfiles.history import last_step
from runfiles.retries import try_for
from trainers.checkpoints.save_result import SaveResult
from trainers.progress.auto_choice_store import AutoChoiceStore
from trainers.progress.run_outputs import record_outputs


class Reporter:
    """Reports the events of one attempt, one method per event; does nothing on ranks other than 0."""

    def __init__(self, folder: RunFolder, attempt: int, *, rank: int) -> None:
        self.folder, self._attempt = folder, attempt
        self.choice_store = AutoChoiceStore(folder, self.chose)
        self._file: int | None = None
        self._times: int | None = None
        self._started: float | None = None  # by a clock that nobody sets
        if rank == 0:
            self._file, self._times = open_for_lines(folder.events), open_for_lines(folder.times)

    def started(self, hosts: Sequence[str], *, device: str, steps: int, versions: dict[str, str]) -> None:
        """Report the start: the host of every rank, the device, the number of steps and the software versions."""
        self._started = time.monotonic()
        self._append(
            Started(
                attempt=self._attempt,
                at=time.time(),
                world=len(hosts),
                hosts=list(hosts),
                device=device,
                steps=steps,
                versions=versions,
            )
        )

    def note(self, text: str) -> None:
        """Print a line to the log."""
        if self._file is not None:
            print(text, flush=True)

    def chose(self, choices: CollectiveChoices, is_reused: bool, note: str | None) -> None:
        """Report the choices of `auto`; `is_reused`: an earlier attempt made them; `note`: why it did not."""
        self._append(
            CollectivesChosen(attempt=self._attempt, at=time.time(), kept=is_reused, note=note, choices=choices)
        )

    def resumed(self, step: int, notes: Sequence[str]) -> None:
        """Report the step at which this attempt resumes, and how many steps of earlier attempts are lost."""
        if self._file is None:
            return
        self._resumed(step, notes, before=last_step(self.folder.events))

    def began(self) -> None:
        """Report a start without a checkpoint: if an earlier attempt took steps, all of them are lost."""
        if self._file is not None and (before := last_step(self.folder.events)):
            self._resumed(0, ["no checkpoint had been written"], before=before)

    def _resumed(self, step: int, notes: Sequence[str], *, before: int) -> None:
        lost = max(0, before - step)
        self._append(Resumed(attempt=self._attempt, at=time.time(), step=step, lost_steps=lost, notes=list(notes)))
        print("; ".join([f"attempt {self._attempt} goes on from step {step}", *notes]), flush=True)

    def saved(self, result: SaveResult) -> None:
        """Report the result of saving a checkpoint."""
        self._append(Saved(attempt=self._attempt, at=time.time(), **asdict(result)))
        if result.error is not None and self._file is not None:
            print(f"the checkpoint at step {result.step} could not be written: {result.error}", file=sys.stderr)

    def paused(self, step: int, *, saved_step: int, reason: str) -> None:
        """Report that the run pauses after `step`, with a complete checkpoint at `saved_step`."""
        self._append(Paused(**self._end(), step=step, saved_step=saved_step, reason=reason))

    def points(self, step: int, values: Mapping[str, float]) -> None:
        """Report metrics of a step."""
        self._append(Points(attempt=self._attempt, at=time.time(), step=step, values=dict(values)))

    def times(self, first_step: int, last_step: int, parts: Mapping[int, Sequence[float]]) -> None:
        """Append every rank's mean seconds per step, in the order of `metric_names.TIME_PARTS`, to the times file."""
        if self._times is None:
            return
        rows = [
            ",".join(map(str, (self._attempt, first_step, last_step, rank, *(f"{part_s:.6g}" for part_s in parts_P))))
            for rank, parts_P in parts.items()
        ]
        head = [] if os.fstat(self._times).st_size else [",".join(COLUMNS)]
        append_lines(self._times, "".join(f"{row}\n" for row in [*head, *rows]).encode())

    def epoch(self, step: int, values: Mapping[str, float]) -> None:
        """Report the evaluation after an epoch, and print it to the log."""
        self.points(step, values)
        if self._file is not None:
            result = f"held-out loss {values[metric_names.HELDOUT_LOSS]:.4g}"
            if (accuracy := values.get(metric_names.HELDOUT_ACCURACY)) is not None:
                result += f", accuracy {accuracy:.2%}"
            print(f"epoch {values[metric_names.EPOCH]:g}, step {step}: {result}", flush=True)

    def lost(self, rank: int, step: int, reason: str) -> None:
        """Report that the run continues without a rank, and print it to the log."""
        if self._file is None:
            return
        self.folder.write_lost_rank(
            LostRank(attempt=self._attempt, rank=rank, step=step, at=time.time(), reason=reason)
        )
        print(f"rank {rank} is lost ({reason}); the run continues without it from step {step}", flush=True)

    def finished(self, run: RunSpec) -> None:
        """Record the outputs, and then report that the run has taken all its steps."""
        if self._file is not None:
            has_record = record_outputs(self.folder, self._attempt, run)
            self._append(Finished(**self._end(), step=run.steps, outputs=has_record))

    def failed(self, failure: RankFailure) -> None:
        """Report the failure that ended the attempt."""
        self._append(Failed(**self._end(), rank=failure.rank, reason=failure.reason, failure=failure.kind))

    def _end(self) -> dict[str, Any]:
        """Return the fields of every event that ends an attempt."""
        ran_s = None if self._started is None else round(time.monotonic() - self._started, 3)
        return {"attempt": self._attempt, "at": time.time(), "ran_s": ran_s}

    def _append(self, event: Event) -> None:
        if self._file is None:
            return
        write = partial(append_lines, self._file, event.model_dump_json().encode() + b"\n")
        if error := try_for(write, "events"):
            raise error
