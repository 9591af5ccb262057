"""One rank of a case by the engine: its real loop, with evaluations, and with a pause and a resume where asked for."""

import random
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed import FileStore, PrefixStore  # type: ignore[attr-defined]

from contract import metric_names
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from tests.testing.trainers.differential.case import Case
from tests.testing.trainers.differential.outcome import Outcome, Refusal, copies
from tests.testing.trainers.differential.spec import spec_of
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import RankInfo, local_rank_info
from trainers.recovery.checkpoint_coordinator import CheckpointCoordinator
from trainers.recovery.preemption_signal import PreemptionSignal, exit_now
from trainers.training.engine import make_loop
from trainers.training.loop import TrainingLoop

CPU = torch.device("cpu")
PRINTED = 4000  # characters of a traceback


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


class PauseAfter(PreemptionSignal):
    """A signal that arrives during a step."""

    def __init__(self, loop: TrainingLoop, step: int | None) -> None:
        super().__init__(exit_now)
        self._loop, self._step = loop, step

    @property
    def reason(self) -> str | None:
        """The signal, in the step after which the run pauses."""
        return "SIGTERM" if self._step is not None and self._loop.state.step + 1 >= self._step else None

    @reason.setter
    def reason(self, value: str | None) -> None:
        pass


def run_rank(case: Case, rank: int, folder: Path, *, pauses: bool) -> Outcome:
    """Return the outcome of a rank; all ranks of the case call this together, with an empty folder."""
    warnings.simplefilter("ignore")
    # the generators of fresh processes differ
    random.seed(rank)
    np.random.seed(rank)
    torch.manual_seed(1000 + rank)
    of_rank = RankRun(case, local_rank_info(rank, case.world), folder)
    store = FileStore(str(folder / "store"), case.world)
    dist.init_process_group("gloo", store=PrefixStore("group", store), rank=rank, world_size=case.world)
    try:
        outcome = of_rank.train(store, pauses=pauses)
        dist.barrier()
    except Exception as error:
        steps = 0 if of_rank.loop is None else of_rank.loop.state.step
        trace = traceback.format_exc()[-PRINTED:]
        outcome = Outcome(refusal=Refusal(type(error).__name__, str(error), steps, trace))
    finally:
        dist.destroy_process_group()
    return outcome


class RankRun:
    """The attempts of one rank."""

    def __init__(self, case: Case, rank_info: RankInfo, folder: Path) -> None:
        self.case, self.rank_info = case, rank_info
        self.folder = RunFolder(folder)
        self.recorder = Recorder(self.folder)
        self.loop: TrainingLoop | None = None
        self.outcome = Outcome()

    def train(self, store: FileStore, *, pauses: bool) -> Outcome:
        """Train to the end, in two attempts if the case resumes and `pauses` asks for it."""
        run = spec_of(self.case)
        if self.rank_info.rank == 0:
            self.folder.prepare(run)
        loop = self._attempt(run, store, 1, pause_after=self.case.resumes_at if pauses else None)
        self.outcome.initial = copies(dict(loop.state.model.named_parameters()))
        if not loop.train():
            loop = self._attempt(run, store, 2, pause_after=None)
            assert loop.coordinator is not None
            loop.coordinator.resume()
            assert loop.state.step == self.case.resumes_at, "the run resumes at another step"
            assert loop.train(), "the run pauses again"
        self._record(loop)
        return self.outcome

    def _attempt(self, run: RunSpec, store: FileStore, number: int, *, pause_after: int | None) -> TrainingLoop:
        loop = self.loop = make_loop(run, self.rank_info, device=CPU, report=self.recorder)
        loop.coordinator = CheckpointCoordinator(
            run,
            self.folder,
            number,
            self.rank_info,
            loop.state,
            loop.step.agreement,
            preemption=PauseAfter(loop, pause_after),
            report=self.recorder,
            store=PrefixStore(f"checkpoints {number}", store),
            device=CPU,
            watch=loop.evaluation.watch,
        )
        return loop

    def _record(self, loop: TrainingLoop) -> None:
        model, average = loop.state.model, loop.state.average
        self.outcome.parameters = copies(dict(model.named_parameters()))
        self.outcome.buffers = copies(dict(model.named_buffers()))
        if average is not None:
            self.outcome.average_parameters = copies(dict(average.module.named_parameters()))
            self.outcome.average_buffers = copies(dict(average.module.named_buffers()))
        self.outcome.modes = {name: module.training for name, module in model.named_modules()}
        self.outcome.losses = [loss for _, loss in sorted(self.recorder.losses.items())]
        self.outcome.evaluations = self.recorder.evaluations
