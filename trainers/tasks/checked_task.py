"""A task whose outputs are checked first: a net may return others in an evaluation than in training."""

from torch import Tensor

from trainers.losses.least_outputs import LeastOutputs
from trainers.tasks.task import Task


class CheckedTask:
    """Evaluates as `task` does."""

    def __init__(self, task: Task, least: LeastOutputs) -> None:
        self.task, self.least = task, least

    def tally(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the task's sums; raise ValueError if the net has too few outputs."""
        self.least.check(output)
        return self.task.tally(output, target)
