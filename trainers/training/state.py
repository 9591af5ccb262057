"""What a run carries from one step to the next; with the spec, all that the rest of it depends on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.swa_utils import AveragedModel

from trainers.checkpoints import rng_state as randomness
from trainers.rules.rule import Rule
from trainers.training.precision import LossScale

Dicts = dict[str, Any]


@dataclass
class State:
    """The parts that change while a run trains; the order of the data is a function of the spec and the step."""

    model: nn.Module
    optimizer: Optimizer
    rule: Rule
    scale: LossScale | None = None  # of the loss, where the passes are in float16
    step: int = 0  # steps taken
    trained_s: float = 0.0  # by the clock of this rank, without the time between attempts
    average: AveragedModel | None = None  # of the model's weights over the steps, where the spec wants one

    @property
    def judged(self) -> nn.Module:
        """The net that is evaluated: the average where there is one."""
        return self.model if self.average is None else self.average.module

    def shared(self) -> Dicts:
        """What all ranks have alike; where replicas differ, the weights that the run answers with, on rank 0."""
        progress: Dicts = {"trained_s": self.trained_s}
        if not self.rule.replicas_differ:
            return self._trained() | progress
        with self.rule.answer():
            center = {name: p.detach().clone() for name, p in self._parameters()}
        finished = [rank for rank, lost in self.rule.left().items() if lost is None]
        return {"parameters": center, "finished": finished, **progress}

    def alone(self, device: torch.device) -> Dicts:
        """What each rank has of its own: statistics of the images that it saw, random generators, a rule's memory.

        Where replicas differ, the replica too, and how many steps it has taken.
        """
        own: Dicts = {"rule": self.rule.state_dict(), "random": randomness.capture(device)}
        own["buffers"] = {name: buffer for net, each in self._nets() for name, buffer in each.named_buffers(prefix=net)}
        return own | ({"replica": self._trained(), "step": self.step} if self.rule.replicas_differ else {})

    def load(self, step: int, shared: Dicts, own: Dicts, device: torch.device) -> None:
        """Go on as the same rank of as many; raise ValueError when this is another net's."""
        self._load_weights(own.get("replica", shared), own["buffers"])
        self.rule.load_state_dict(own["rule"])
        randomness.restore(own["random"], device)
        self.step, self.trained_s = own.get("step", step), shared["trained_s"]

    def load_among_others(self, step: int, shared: Dicts, alones: Sequence[Dicts], *, seed: int, rank: int) -> None:
        """Go on among more or fewer ranks than saved: statistics are averaged over them, random generators anew."""
        self._load_weights(shared, _mean([own["buffers"] for own in alones]))
        randomness.seed(seed, rank=rank, step=step)
        self.step, self.trained_s = step, shared["trained_s"]

    def load_center(self, step: int, shared: Dicts, *, seed: int, rank: int) -> None:
        """Go on as a replica of which nothing was saved: from the center, at the step of rank 0."""
        _fill("parameter", self._parameters(), shared["parameters"])
        self.rule.join(step)
        randomness.seed(seed, rank=rank, step=step)
        self.step, self.trained_s = step, shared["trained_s"]

    def _trained(self) -> Dicts:
        averaged = 0 if self.average is None else int(self.average.n_averaged)
        scale = None if self.scale is None else self.scale.state_dict()
        learned = {"averaged": averaged, "scale": scale}
        return {"parameters": dict(self._parameters()), "optimizer": self.optimizer.state_dict(), **learned}

    def _parameters(self) -> list[tuple[str, Tensor]]:
        return [named for net, each in self._nets() for named in each.named_parameters(prefix=net)]

    def _nets(self) -> list[tuple[str, nn.Module]]:
        return [("model", self.model), *([] if self.average is None else [("average", self.average.module)])]

    def _load_weights(self, saved: Dicts, buffers: Mapping[str, Tensor]) -> None:
        _fill("parameter", self._parameters(), saved["parameters"])
        _fill("buffer", [named for net, each in self._nets() for named in each.named_buffers(prefix=net)], buffers)
        self.optimizer.load_state_dict(saved["optimizer"])
        if self.average is not None:
            self.average.n_averaged.fill_(saved["averaged"])
        if self.scale is not None:
            self.scale.load_state_dict(saved["scale"])


@torch.no_grad()
def _fill(kind: str, here: Iterable[tuple[str, Tensor]], saved: Mapping[str, Tensor]) -> None:
    """Copy saved tensors into those of the net, which must be the same ones."""
    there = dict(saved)
    for name, tensor in here:
        found = there.pop(name, None)
        if found is None:
            raise ValueError(f"a checkpoint of another net: it has no {kind} {name}")
        if found.shape != tensor.shape:
            shapes = f"{tuple(found.shape)} there and {tuple(tensor.shape)} here"
            raise ValueError(f"a checkpoint of another net: {kind} {name} is {shapes}")
        tensor.copy_(found)
    if there:
        raise ValueError(f"a checkpoint of another net: this one has no {kind} {next(iter(there))}")


def _mean(buffers: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of every buffer over the ranks; of one that counts, the first rank's."""
    return {
        name: torch.stack([of[name] for of in buffers]).mean(dim=0) if first.is_floating_point() else first
        for name, first in buffers[0].items()
    }
