"""The least number of outputs that a net must have for its targets.

A target that is no output is an IndexError of torch on a CPU, and on a GPU an assertion that ends the process later and
names nothing. So the sizes are compared before each loss, which takes no more than the shape of the output.
"""

from dataclasses import dataclass

from torch import Tensor

from trainers.losses.loss import Loss, Output


@dataclass(frozen=True)
class LeastOutputs:
    """At least `count` outputs along a dimension of logits; `stated`: what of the spec needs them."""

    count: int
    dim: int
    stated: str

    def check(self, output: Output) -> None:
        """Raise ValueError if logits, of any head, have fewer."""
        heads = [head for head in (output if isinstance(output, tuple) else (output,)) if isinstance(head, Tensor)]
        for logits in heads:
            found = logits.shape[self.dim] if logits.dim() > 1 else 1
            if found < self.count:
                outputs = "1 output" if found == 1 else f"{found} outputs"
                raise ValueError(f"the net returns {outputs}, and the spec states {self.stated}")


class CheckedLoss:
    """A loss of outputs that are checked first."""

    def __init__(self, loss: Loss, least: LeastOutputs) -> None:
        self.loss, self.least = loss, least

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the loss; raise ValueError if the net has too few outputs."""
        self.least.check(output)
        return self.loss(output, target)
