"""One rank of a case by the engine: its real loop, with evaluations, and with a pause and a resume where asked for."""

import random
import traceback
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from contract import metric_names
from contract.folder.run_folder import RunFolder
from tests.testing.trainers.differential.case import Case
from tests.testing.trainers.differential.outcome import Outcome, Refusal, copies
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import local_rank_info
from trainers.recovery.preemption_signal import PreemptionSignal, exit_now
from trainers.training import engine
from trainers.training.loop import TrainingLoop

PRINTED = 4000  # characters of a traceback
make_loop = engine.make_loop


class Recorder(Reporter):
    """Records the series of the run instead of writing events, and asks for a pause after a step."""

    def __init__(self, folder: RunFolder) -> None:
        super().__init__(folder, 1, rank=1)  # only rank 0 writes events
        self.losses: dict[int, float] = {}
        self.evaluations: list[tuple[float, float]] = []

    def points(self, step: int, values: Mapping[str, float]) -> None:
        """Record the loss of a step, or an evaluation."""
        if metric_names.LOSS in values:
            self.losses[step] = values[metric_names.LOSS]
        if metric_names.HELDOUT_LOSS in values:
            accuracy = values[metric_names.HELDOUT_ACCURACY]
            self.evaluations.append((values[metric_names.HELDOUT_LOSS], accuracy))


class RankRun:
    """The attempts of one rank, by the engine's own `train`."""

    def __init__(self, case: Case, rank: int, folder: RunFolder) -> None:
        self.case, self.folder = case, folder
        self.rank_info = local_rank_info(rank, case.world)
        self.recorder = Recorder(folder)
        self.outcome = Outcome()
        self.loop: TrainingLoop | None = None

    def train(self, *, pauses: bool) -> None:
        """Train to the end, in two attempts if the case resumes and `pauses` asks for it."""
        setattr(engine, "make_loop", self._make_loop)  # noqa: B010  # the engine keeps its loop to itself
        if not self._attempt(1, PauseAfter(self, self.case.resumes_at if pauses else None)):
            dist.destroy_process_group()
            assert self._attempt(2, PauseAfter(self, None)), "the run pauses again"
        self._record()

    def steps(self) -> int:
        """Return the steps taken."""
        return 0 if self.loop is None else self.loop.state.step

    def _attempt(self, number: int, preemption: PreemptionSignal) -> bool:
        return engine.train(self.folder, number, self.rank_info, report=self.recorder, preemption=preemption)

    def _make_loop(self, *given: Any, **options: Any) -> TrainingLoop:
        self.loop = make_loop(*given, **options)
        self.outcome.initial = copies(dict(self.loop.state.model.named_parameters()))
        return self.loop

    def _record(self) -> None:
        assert self.loop is not None
        model, average = self.loop.state.model, self.loop.state.average
        self.outcome.parameters = copies(dict(model.named_parameters()))
        self.outcome.buffers = copies(dict(model.named_buffers()))
        if average is not None:
            self.outcome.average_parameters = copies(dict(average.module.named_parameters()))
            self.outcome.average_buffers = copies(dict(average.module.named_buffers()))
        self.outcome.modes = {name: module.training for name, module in model.named_modules()}
        self.outcome.losses = [loss for _, loss in sorted(self.recorder.losses.items())]
        self.outcome.evaluations = self.recorder.evaluations


class PauseAfter(PreemptionSignal):
    """A signal that arrives during a step."""

    def __init__(self, of_rank: RankRun, step: int | None) -> None:
        super().__init__(exit_now)
        self._of_rank, self._step = of_rank, step

    @property
    def reason(self) -> str | None:
        """The signal, in the step after which the run pauses."""
        return "SIGTERM" if self._step is not None and self._of_rank.steps() + 1 >= self._step else None

    @reason.setter
    def reason(self, value: str | None) -> None:
        pass


def run_rank(case: Case, rank: int, folder: RunFolder, *, pauses: bool) -> Outcome:
    """Return the outcome of a rank; all ranks of the case call this together, with the folder of a new run."""
    warnings.simplefilter("ignore")
    # the generators of fresh processes differ
    random.seed(rank)
    np.random.seed(rank)
    torch.manual_seed(1000 + rank)
    of_rank = RankRun(case, rank, folder)
    try:
        of_rank.train(pauses=pauses)
    except Exception as error:
        trace = traceback.format_exc()[-PRINTED:]
        return Outcome(refusal=Refusal(type(error).__name__, str(error), of_rank.steps(), trace))
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return of_rank.outcome
