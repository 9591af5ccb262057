"""TrainingState: everything that a run needs, besides its spec, to continue after a step."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.swa_utils import AveragedModel

from trainers.checkpoints.storable import check_storable
from trainers.generators.rng_state import capture_rng_state, restore_rng_state
from trainers.generators.seeds import seed_generators
from trainers.models.persistent_buffers import persistent_buffers, without_caches
from trainers.models.statistics import statistics
from trainers.optimizers.gradient_check import GradientCheck
from trainers.preconditioners.kfac import KFAC
from trainers.rules.rule import Rule
from trainers.tensor.dense_state import DenseState
from trainers.training.diverged import Diverged
from trainers.training.finite_state import find_in_parts, find_in_weights, frozen_parameters
from trainers.training.precision import LossScale

StateDict = dict[str, Any]


@dataclass
class TrainingState:
    """The parts that change during training; the order of the data is a function of the spec and the step."""

    model: nn.Module
    optimizer: Optimizer
    rule: Rule
    scale: LossScale | None = None  # if the passes are in float16
    step: int = 0  # steps taken
    trained_s: float = 0.0  # wall time on this rank, without the time between attempts
    average: AveragedModel | None = None  # of the model's weights over the steps, if the spec asks for it
    dense: DenseState | None = None  # if several ranks share a replica: their state as one rank would have it
    preconditioner: KFAC | None = None  # if the spec asks for one; its state is equal on all ranks
    gradient_check: GradientCheck = field(default_factory=GradientCheck)
    _finite_step: int = -1  # the last step at which all weights were known to be finite

    @property
    def evaluated_model(self) -> nn.Module:
        """The model to evaluate: the average if there is one."""
        return self.model if self.average is None else self.average.module

    def shared_state(self) -> StateDict:
        """Return the state that is equal on all ranks; if replicas differ, the weights to evaluate, on rank 0."""
        progress: StateDict = {"trained_s": self.trained_s}
        if not self.rule.replicas_differ:
            return self._trained_state() | progress
        with self.rule.evaluation_weights():
            center = {name: p.detach().clone() for name, p in self._parameters()}
        finished = [rank for rank, lost in self.rule.departed_ranks().items() if lost is None]
        return {"parameters": center, "finished": finished, **progress}

    def rank_state(self, device: torch.device) -> StateDict:
        """Return the state of this rank alone: batch norm statistics, random generators, and the rule's state.

        If replicas differ, it includes the replica and its number of steps.
        """
        own: StateDict = {"rule": self.rule.state_dict(), "random": capture_rng_state(device)}
        own["buffers"] = self.buffers()
        return own | ({"replica": self._trained_state(), "step": self.step} if self.rule.replicas_differ else {})

    def buffers(self) -> dict[str, Tensor]:
        """Return this rank's batch norm statistics and other buffers by name, without caches."""
        return {name: it for net, each in self._nets() for name, it in persistent_buffers(each, prefix=net).items()}

    def statistics(self) -> dict[str, Tensor]:
        """Return those buffers that are statistics of normalization by name."""
        return {f"{net}.{name}": buffer for net, each in self._nets() for name, buffer in statistics(each).items()}

    def find_not_finite(self, shared: StateDict, own: StateDict) -> str | None:
        """Return what is not finite in two parts of a checkpoint of this model, in words, or None if all is finite."""
        frozen, optimized = frozen_parameters(self.model), self._optimized()
        return find_in_parts(shared, own, statistics=self.statistics().keys(), frozen=frozen, optimized=optimized)

    def check_storable(self, *parts: StateDict) -> None:
        """Raise NotStorable if parts of a checkpoint, by default weights and optimizer, hold what none can hold."""
        weights = {"parameters": dict(self._parameters()), "buffers": self.buffers()}
        names = [name for name, _ in self._optimized()]
        for part in parts or [{**weights, "optimizer": self.optimizer.state_dict()}]:
            check_storable(part, names)

    def check_parts(self, shared: StateDict, own: StateDict) -> None:
        """Raise Diverged if what is about to be stored is not finite."""
        self._check(self.find_not_finite(shared, own))

    def check_weights(self) -> None:
        """Raise Diverged if the weights and statistics that are about to be evaluated are not finite."""
        if self.rule.replicas_differ or self._finite_step != self.step:  # else they were stored at this step
            self._check(
                find_in_weights(dict(self._parameters()), self.statistics(), frozen=frozen_parameters(self.model))
            )

    def _check(self, found: str | None) -> None:
        if found is None:
            self._finite_step = self.step
            return
        known = f"; at step {self._finite_step} all were finite" if 0 <= self._finite_step < self.step else ""
        raise Diverged(f"at step {self.step} {found}{known}")

    def load(self, step: int, shared: StateDict, own: StateDict, device: torch.device) -> None:
        """Restore the same rank of the same world; raise ValueError if the checkpoint is of another model."""
        self._load_weights(own.get("replica", shared), own["buffers"])
        self.rule.load_state_dict(own["rule"])
        restore_rng_state(own["random"], device)
        self._continue_at(own.get("step", step), shared)

    def load_with_other_world(
        self, step: int, shared: StateDict, buffers: Mapping[str, Tensor], *, seed: int, rank: int
    ) -> None:
        """Restore a world of another size: `buffers` are of all saved ranks, and the generators begin anew."""
        self._load_weights(shared, buffers)
        seed_generators(seed, rank=rank, step=step)
        self._continue_at(step, shared)

    def load_center(self, step: int, shared: StateDict, *, seed: int, rank: int) -> None:
        """Start a replica that has no saved state: from the center, at the step of rank 0."""
        _fill("parameter", self._parameters(), shared["parameters"])
        self.rule.start_replica(step)
        seed_generators(seed, rank=rank, step=step)
        self._continue_at(step, shared)

    def _continue_at(self, step: int, shared: StateDict) -> None:
        self.step, self.trained_s = step, shared["trained_s"]
        self._finite_step = step  # all ranks have checked what they read

    def start_from(self, parameters: Mapping[str, Tensor], buffers: Mapping[str, Tensor]) -> None:
        """Take other weights and buffers before the first step.

        Raise ValueError if they are of another model.
        """
        if self.dense is not None:
            parameters = self.dense.cut(parameters)
        for _, net in self._nets():
            _fill("parameter", net.named_parameters(), parameters)
            _fill("buffer", persistent_buffers(net).items(), without_caches(buffers, net))

    def _optimized(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return names and shapes of the optimizer's parameters, by the numbers that its state dict gives them."""
        names = {p: name for name, p in self.model.named_parameters()}
        params = [p for group in self.optimizer.param_groups for p in group["params"]]
        return [(names.get(p, "a parameter of no module"), tuple(p.shape)) for p in params]

    def _trained_state(self) -> StateDict:
        averaged = 0 if self.average is None else int(self.average.n_averaged)
        scale = None if self.scale is None else self.scale.state_dict()
        learned: StateDict = {"averaged": averaged, "scale": scale}
        if self.preconditioner is not None:
            learned["preconditioner"] = self.preconditioner.state_dict()
        parameters, optimizer = dict(self._parameters()), self.optimizer.state_dict()
        if self.dense is not None:
            parameters, optimizer = self.dense.join(parameters), self.dense.join_optimizer(optimizer)
        return {"parameters": parameters, "optimizer": optimizer, **learned}

    def _parameters(self) -> list[tuple[str, Tensor]]:
        return [named for net, each in self._nets() for named in each.named_parameters(prefix=net)]

    def _nets(self) -> list[tuple[str, nn.Module]]:
        return [("model", self.model), *([] if self.average is None else [("average", self.average.module)])]

    def _load_weights(self, saved: StateDict, buffers: Mapping[str, Tensor]) -> None:
        parameters, optimizer = saved["parameters"], saved["optimizer"]
        if self.dense is not None:
            parameters, optimizer = self.dense.cut(parameters), self.dense.cut_optimizer(optimizer)
        _fill("parameter", self._parameters(), parameters)
        for net, each in self._nets():
            buffers = without_caches(buffers, each, prefix=net)
        _fill("buffer", self.buffers().items(), buffers)
        self.optimizer.load_state_dict(optimizer)
        if self.average is not None:
            self.average.n_averaged.fill_(saved["averaged"])
        if self.scale is not None and saved["scale"] is not None:  # earlier versions had none for float16 messages
            self.scale.load_state_dict(saved["scale"])
        if self.preconditioner is not None:
            self.preconditioner.load_state_dict(saved["preconditioner"])


@torch.no_grad()
def _fill(kind: str, here: Iterable[tuple[str, Tensor]], saved: Mapping[str, Tensor]) -> None:
    """Copy saved tensors into the model's, which must have the same names and shapes."""
    there = dict(saved)
    for name, tensor in here:
        found = there.pop(name, None)
        if found is None:
            raise ValueError(f"a checkpoint of another model: it has no {kind} {name}")
        if found.shape != tensor.shape:
            shapes = f"{tuple(found.shape)} there and {tuple(tensor.shape)} here"
            raise ValueError(f"a checkpoint of another model: {kind} {name} is {shapes}")
        tensor.copy_(found)
    if there:
        raise ValueError(f"a checkpoint of another model: this one has no {kind} {next(iter(there))}")
