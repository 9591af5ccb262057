"""What a run carries from one step to the next; with the spec, all that the rest of it depends on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.swa_utils import AveragedModel

from trainers.checkpoints import randomness
from trainers.precision import LossScale
from trainers.rules.rule import Rule

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
        """What all ranks have alike."""
        named = {name: p for net, each in self._nets() for name, p in each.named_parameters(prefix=net)}
        averaged = 0 if self.average is None else int(self.average.n_averaged)
        scale = None if self.scale is None else self.scale.state_dict()
        progress = {"averaged": averaged, "scale": scale, "trained_s": self.trained_s}
        return {"parameters": named, "optimizer": self.optimizer.state_dict(), **progress}

    def alone(self, device: torch.device) -> Dicts:
        """What each rank has of its own: statistics of the images that it saw, random generators, a rule's memory."""
        own: Dicts = {"rule": self.rule.state_dict(), "random": randomness.capture(device)}
        own["buffers"] = {name: buffer for net, each in self._nets() for name, buffer in each.named_buffers(prefix=net)}
        return own

    def load(self, step: int, shared: Dicts, own: Dicts, device: torch.device) -> None:
        """Go on as the same rank of as many; raise ValueError when this is another net's."""
        self._load_weights(shared, own["buffers"])
        self.rule.load_state_dict(own["rule"])
        randomness.restore(own["random"], device)
        self.step = step

    def load_among_others(self, step: int, shared: Dicts, alones: Sequence[Dicts], *, seed: int, rank: int) -> None:
        """Go on among more or fewer ranks than saved: statistics are averaged over them, random generators anew."""
        self._load_weights(shared, _mean([own["buffers"] for own in alones]))
        randomness.seed(seed, rank=rank, step=step)
        self.step = step

    def _nets(self) -> list[tuple[str, nn.Module]]:
        return [("model", self.model), *([] if self.average is None else [("average", self.average.module)])]

    @torch.no_grad()
    def _load_weights(self, saved: Dicts, buffers: Mapping[str, Tensor]) -> None:
        here = [named for net, each in self._nets() for named in each.named_parameters(prefix=net)]
        _fill("parameter", here, saved["parameters"])
        _fill("buffer", [named for net, each in self._nets() for named in each.named_buffers(prefix=net)], buffers)
        self.optimizer.load_state_dict(saved["optimizer"])
        if self.average is not None:
            self.average.n_averaged.fill_(saved["averaged"])
        if self.scale is not None:
            self.scale.load_state_dict(saved["scale"])
        self.trained_s = saved["trained_s"]


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
