"""The reference: a case trained by plain PyTorch in one process, as its user would write it.

Each rank has its own copy of the net, because batch normalization's statistics belong to the passes of a rank. The
passes of all ranks run one after the other, the gradients are averaged, and one optimizer updates the weights.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from numpy.random import SeedSequence
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tests.testing.trainers.differential import nets
from tests.testing.trainers.differential.case import Case
from tests.testing.trainers.differential.outcome import Outcome, Refusal, Tensors, copies
from tests.testing.trainers.differential.reference_average import Average, average_statistics
from tests.testing.trainers.differential.reference_optimizers import reference_optimizer
from tests.testing.trainers.differential.spec import data_options, net_options, optimizer_of


def train_plainly(case: Case, initial: Tensors | None = None) -> list[Outcome]:
    """Return the outcome of each rank; `initial`: the first weights, where not torch's generator alone draws them."""
    training = Training(case, initial)
    try:
        training.train()
    except (RuntimeError, ValueError) as error:  # torch cannot train this net
        return [Outcome(refusal=Refusal(type(error).__name__, str(error), training.steps))] * case.world
    return training.outcomes()


class Training:
    """The training of one case."""

    def __init__(self, case: Case, initial: Tensors | None) -> None:
        self.case, self.steps = case, 0
        self.nets = [self._make_net(initial) for _ in range(case.world)]
        self.evaluated = self._make_net(initial)  # has the averaged weights while they are evaluated
        self.initial = copies(dict(self.nets[0].named_parameters()))
        self.optimizer = reference_optimizer(optimizer_of(case), self.nets[0])
        self.scaler = torch.amp.GradScaler(
            "cpu", init_scale=2.0**16, growth_interval=2000, enabled=case.precision == "float16"
        )
        self.averages = [Average(net, case.ema_decay) for net in self.nets] if case.ema_decay else []
        self.train_set, self.heldout = nets.data(**data_options(case))
        self.losses: list[float] = []
        self.evaluations: list[tuple[float, float]] = []

    def train(self) -> None:
        """Take all steps, with an evaluation after every epoch."""
        for epoch in range(self.case.epochs):
            batches = list(self._batches(epoch))
            for number, batch in enumerate(batches):
                for group in self.optimizer.param_groups:
                    group["lr"] = self._rate(epoch + number / len(batches))
                self._take_step(batch)
            self._evaluate()

    def outcomes(self) -> list[Outcome]:
        """Return the outcome of each rank."""
        found = []
        for rank, net in enumerate(self.nets):
            of_rank = Outcome(
                initial=self.initial,
                parameters=copies(dict(net.named_parameters())),
                buffers=copies(dict(net.named_buffers())),
                modes={name: module.training for name, module in net.named_modules()},
                losses=self.losses,
                evaluations=self.evaluations,
            )
            if self.averages:
                average = self.averages[rank]
                of_rank.average_parameters, of_rank.average_buffers = average.parameters, average.buffers
            found.append(of_rank)
        return found

    def _make_net(self, initial: Tensors | None) -> nn.Module:
        torch.manual_seed(self.case.seed)
        sizes: dict[str, Any] = {"channels": 1} if self.case.inputs == "images" else {"shape": ()}
        net = nets.net(classes=nets.CLASSES, **sizes, **net_options(self.case))
        with torch.no_grad():
            for name, p in net.named_parameters():
                if initial is not None:
                    p.copy_(initial[name])
        if self.case.channels_last:
            for p in filter(lambda p: p.dim() == 4, net.parameters()):
                p.data = p.data.contiguous(memory_format=torch.channels_last)
        return net

    def _batches(self, epoch: int) -> Iterator[Tensor]:
        """Yield the samples of each global batch, in the documented order."""
        mixed = int(SeedSequence([self.case.seed, epoch]).generate_state(1)[0])
        order_N = torch.randperm(len(self.train_set), generator=torch.Generator().manual_seed(mixed))
        share = self.case.later_share if epoch and self.case.later_share else self.case.share
        batch = share * self.case.world
        yield from order_N[: len(order_N) // batch * batch].split(batch)

    def _rate(self, epoch: float) -> float:
        rate, warmup, epochs = self.case.rate, self.case.warmup_epochs, self.case.epochs
        if self.case.schedule == "own":
            return nets.waves(epochs=epochs, rate=rate)(epoch)
        if epoch < warmup:
            return rate * epoch / warmup
        is_falling = self.case.schedule == "cosine"
        return rate * (1 + math.cos(math.pi * (epoch - warmup) / (epochs - warmup))) / 2 if is_falling else rate

    def _take_step(self, batch_N: Tensor) -> None:
        loss = 0.0
        for net, share_B in zip(self.nets, batch_N.chunk(self.case.world), strict=True):
            net.zero_grad()
            # as few passes as possible, of nearly equal size
            count = -(-len(share_B) // (self.case.micro_batch or len(share_B)))
            for pass_B in torch.tensor_split(share_B, count):
                part = self._loss(net, pass_B.tolist()) * (len(pass_B) / len(share_B))
                self.scaler.scale(part).backward()
                loss += float(part.detach()) / self.case.world
        self.losses.append(loss)
        self._update()
        self.steps += 1
        for average, net in zip(self.averages, self.nets, strict=False):
            average.update(net)

    def _update(self) -> None:
        """Update the weights of the first net by the mean gradient, and copy them to the other nets."""
        first, *others = self.nets
        for together in zip(*(net.parameters() for net in self.nets), strict=True):
            grads = [p.grad for p in together if p.grad is not None]
            together[0].grad = _mean(grads, len(together)) if grads else None
        self.scaler.unscale_(self.optimizer)
        if self.case.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(first.parameters(), self.case.clip_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        with torch.no_grad():
            for net in others:
                for p, updated in zip(net.parameters(), first.parameters(), strict=True):
                    p.copy_(updated)

    def _passes(self) -> AbstractContextManager[Any]:
        is_full = self.case.precision == "float32"
        return nullcontext() if is_full else torch.autocast("cpu", getattr(torch, self.case.precision))

    def _loss(self, net: nn.Module, numbers: Sequence[int]) -> Tensor:
        inputs, y_B = self._collate(self.train_set, numbers)
        with self._passes():
            return self._criterion(net(inputs), y_B, smoothing=self.case.label_smoothing)

    def _criterion(self, logits_BK: Tensor, y_B: Tensor, *, smoothing: float = 0.0) -> Tensor:
        if self.case.own_loss:
            return nets.loss(power=1.5)(logits_BK, y_B)
        wide = logits_BK.double() if logits_BK.dtype is torch.float64 else logits_BK.float()
        return cross_entropy(wide, y_B, label_smoothing=smoothing)

    def _collate(self, samples: list[Any], numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        inputs = torch.stack([samples[number][0] for number in numbers])
        is_moved = self.case.channels_last and inputs.dim() == 4
        layout = torch.channels_last if is_moved else torch.preserve_format
        return inputs.clone(memory_format=layout), torch.tensor([samples[number][1] for number in numbers])

    @torch.no_grad()
    def _evaluate(self) -> None:
        """Evaluate the average, or the net, with the ranks' mean statistics, on all held-out samples in one pass."""
        if self.averages:
            average_statistics([average.buffers for average in self.averages], self.evaluated)
            self.averages[0].copy_to(self.evaluated)
        else:
            average_statistics([dict(net.named_buffers()) for net in self.nets], self.evaluated)
            self.evaluated.load_state_dict(self.nets[0].state_dict())
        self.evaluated.eval()
        inputs, y_B = self._collate(self.heldout, range(len(self.heldout)))
        with self._passes():
            logits_BK = self.evaluated(inputs)
        accuracy = float((logits_BK.argmax(dim=1) == y_B).double().mean())
        self.evaluations.append((float(self._criterion(logits_BK, y_B)), accuracy))


def _mean(grads: Sequence[Tensor], world: int) -> Tensor:
    """Return the mean over the ranks, of which those without a gradient have 0."""
    wide = torch.promote_types(grads[0].dtype, torch.float32)
    total = torch.stack([grad.to(wide) for grad in grads]).sum(dim=0) / world
    return torch.empty_like(grads[0]).copy_(total)
