"""K-FAC on n ranks (Pauloski, Zhang, Huang, Xu & Foster, 2020, arXiv:2007.00784): natural-gradient steps for any
optimizer.

The Fisher matrix of layer l is approximated by G_l x A_l (layers.py, factors.py). Between the average of the gradients
over the ranks and the optimizer, the gradient V of each layer is replaced by (G x A + damping I)^-1 V (methods.py),
times the factor of the KL clip. The factors are updated every k1-th step, their inverses every k2-th; the ranks divide
the inverses (assignment.py).

A step is counted if the optimizer takes it: a step that a float16 overflow skips updates nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from trainers.collectives.runners.allreduce import Allreduce
from trainers.preconditioners.assignment import assign
from trainers.preconditioners.capture import Capture
from trainers.preconditioners.factor_sums import FactorSums, StartSum
from trainers.preconditioners.factors import Factors
from trainers.preconditioners.inverses import Inverses
from trainers.preconditioners.layers import find_layers
from trainers.preconditioners.options import KFACOptions
from trainers.rules.call_timer import CallTimer, call_untimed


class KFAC:
    """The preconditioner of one rank. All ranks build it with the same net and options.

    `terms`: how many losses a sample's loss is the mean of, such as one for each token; 1: it is their sum or one.
    `scale`: returns the loss scale of the step. The timers count the time of the factors, of the decompositions, of the
    products with them, and of the exchanges between ranks.
    """

    def __init__(
        self,
        model: nn.Module,
        options: KFACOptions,
        *,
        rank: int = 0,
        world: int = 1,
        terms: int = 1,
        scale: Callable[[], float] = lambda: 1.0,
        timed_factors: CallTimer = call_untimed,
        timed_inverses: CallTimer = call_untimed,
        timed: CallTimer = call_untimed,
        timed_exchange: CallTimer = call_untimed,
    ) -> None:
        self.options = options
        self.layers, self.unused_patterns = find_layers(model, skip=options.skip, largest=options.largest_factor)
        if not self.layers:
            raise ValueError("K-FAC finds no linear layer, convolution or embedding to precondition in this net")
        self.blocks = [block for layer in self.layers for block in layer.blocks]
        self.steps = 0  # that the optimizer has taken
        like = next(model.parameters())
        self.factors = Factors(self.blocks, decay=options.decay, like=like, dtype=options.factor_dtype)
        self.capture = Capture(model, self.layers, terms=terms, scale=scale, timed=timed_factors)
        self._sums = FactorSums(self.capture, self.factors, self.layers, world=world)
        assignment = assign(self.blocks, world=world, fraction=options.fraction)
        self.inverses = Inverses(self.blocks, self.factors, assignment, options, rank=rank, timed=timed_exchange)
        self._update_factors = timed_factors(self._take_factors)
        self._update_inverses, self._apply = timed_inverses(self.inverses.update), timed(self._precondition)
        self._plan_step()

    def attach(self, optimizer: torch.optim.Optimizer) -> None:
        """Precondition before each step of an optimizer; attach this after unscaling and before clipping."""
        optimizer.register_step_pre_hook(self._before)

    def begin_sums(self, start: StartSum | None) -> None:
        """Start to sum the factors of the inputs, before the step's last backward pass, if the step updates them."""
        if self.capture.is_on:
            self._sums.begin(start)

    def wait_for_inputs(self) -> None:
        """Wait for these sums."""
        self._sums.wait()

    def finish_sums(self, allreduce: Allreduce) -> None:
        """Finish the sums over the ranks after the backward pass."""
        if self.capture.is_on:
            self._sums.finish(allreduce)

    @torch.no_grad()
    def _before(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        if all(p.grad is None for p in params):  # the step is skipped
            self._sums.clear()
            return
        if self.capture.is_on:
            self._update_factors()
        damping = self.options.damping.at(self.steps)
        if self.inverses.is_missing or self.options.inverse_every.is_due(self.steps):
            self._update_inverses(damping)
        self._apply(float(optimizer.param_groups[0]["lr"]), damping)
        self.steps += 1
        self._plan_step()

    def _plan_step(self) -> None:
        self.capture.is_on = not self.factors.updates or self.options.factor_every.is_due(self.steps)

    def _take_factors(self) -> None:
        self.factors.update(self._sums.take())

    def _precondition(self, rate: float, damping: float) -> None:
        """Replace the gradients of the layers."""
        of_layers = [(layer, layer.gradients()) for layer in self.layers]
        grads = [
            grad
            for layer, of_layer in of_layers
            for grad in (of_layer if of_layer is not None else [None] * len(layer.blocks))
        ]
        results = self.inverses.precondition(grads, damping)
        present = [(grad, result) for grad, result in zip(grads, results, strict=True) if grad is not None]
        nu: Tensor | float = 1.0
        if self.options.kl_clip is not None and present:
            nu = clip_factor(*zip(*present, strict=True), rate=rate, kappa=self.options.kl_clip)
        begin = 0
        for layer, of_layer in of_layers:
            stop = begin + len(layer.blocks)
            if of_layer is not None:
                layer.set_gradients([result * nu for result in results[begin:stop]])
            begin = stop

    def state_dict(self) -> dict[str, Any]:
        """Return the state, which is equal on all ranks."""
        return {
            "steps": self.steps,
            "updates": self.factors.updates,
            "average": self.factors.average_F,
            "decomposed": self.inverses.decomposed_F,
            "damping": self.inverses.damping,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of any number of ranks; the inverses are computed again before the next step.

        Raise ValueError if it is of other layers.
        """
        if (found := len(state["average"])) != (here := len(self.factors.average_F)):
            raise ValueError(f"the K-FAC factors of a checkpoint have {found:,} numbers, and this net's {here:,}")
        self.steps, self.factors.updates = int(state["steps"]), int(state["updates"])
        self.factors.average_F.copy_(state["average"])
        if state["decomposed"] is not None:
            self.inverses.restore(state["decomposed"].to(self.factors.average_F), float(state["damping"]))
        self._plan_step()


def clip_factor(grads: Sequence[Tensor], preconditioned: Sequence[Tensor], *, rate: float, kappa: float) -> Tensor:
    """Return the factor nu of the KL clip, which bounds how far a step moves the net's predictions.

        nu = min(1, sqrt(kappa / (rate^2 sum_l |g_l . p_l|)))       g_l gradient, p_l preconditioned gradient of layer l

    (Pauloski et al., 2020; Ba, Grosse & Martens, 2017.) rate^2 p . g approximates twice the KL divergence of the
    predictions before and after a step along p, because p is the gradient times the inverse of the Fisher matrix. nu is
    a tensor of one number, so that no step waits for the device.
    """
    products = [(grad * p).sum().abs() for grad, p in zip(grads, preconditioned, strict=True)]
    total = torch.stack(products).sum() * rate**2
    return (kappa / total).sqrt().clamp(max=1.0)  # infinite, and so 1, where the rate or the gradient is 0
