"""Losses: a net's output and its target, mapped to one number that training minimizes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

Output = Tensor | tuple[Tensor, ...]  # logits; with auxiliary heads a tuple, the last head's logits first


class Loss(Protocol):
    """Compare a net's output with the target."""

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the mean over the samples of the batch, a scalar.

        All samples have equal weight, so the mean over equal parts of a batch is the mean over the batch: the number of
        ranks and of micro-batches does not change the loss.
        """
        ...


def only_output(output: Output) -> Tensor:
    """Return a net's only output; raise TypeError if the net has several, whose weights are unknown."""
    if isinstance(output, Tensor):
        return output
    message = f"in training the net returns {len(output)} outputs but has no aux_weight for the auxiliary ones"
    raise TypeError(message)


def to_float32(logits: Tensor) -> Tensor:
    """Return logits in at least float32; a 16-bit softmax over many classes has two or three correct digits."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class CrossEntropy:
    """The mean over a batch of images of the cross-entropy with label smoothing.

        q(k) = (1 - eps) [k = y] + eps / K
        L    = -sum_k q(k) log p(k),   p = softmax(logits)

    (Szegedy et al., 2016, arXiv:1512.00567, section 7.) `label_smoothing` is eps, at least 0 and below 1. With eps = 0
    this is the plain cross-entropy -log p(y). Its minimum is the entropy of q, which is above 0 for eps > 0.
    """

    def __init__(self, *, label_smoothing: float = 0.0) -> None:
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing must be at least 0 and below 1, not {label_smoothing}")
        self.label_smoothing = label_smoothing

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the loss of logits_BK for the classes y_B."""
        return cross_entropy(to_float32(only_output(output)), target, label_smoothing=self.label_smoothing)


class TokenCrossEntropy:
    """The loss of a language model: the mean over all tokens of a batch, with label smoothing as in `CrossEntropy`.

    Every sample has the same number of tokens, so the mean over the parts of a batch is the mean over the batch.
    """

    def __init__(self, *, label_smoothing: float = 0.0) -> None:
        self._of_tokens = CrossEntropy(label_smoothing=label_smoothing)

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the loss of logits_BTV for the tokens next_BT."""
        return self._of_tokens(only_output(output).flatten(0, 1), target.flatten())


class Translation:
    """Cross-entropy summed over a sentence's tokens, averaged over the sentences of a batch.

        L = 1/B sum_b sum_t [y_bt is not padding] H(q_bt, p_bt)

    with H and its label smoothing as in `CrossEntropy`; target tokens equal to `padding` are ignored. The mean is over
    sentences and not over tokens, as in TensorFlow's GNMT (Luong, Brevdo & Zhao, 2017): B is equal on all ranks and
    micro-batches, but the number of tokens is not, and averaging means over tokens would give more weight to the tokens
    of ranks with short sentences. Gradients are larger than for a mean over tokens, by a factor of the mean sentence
    length; learning rates and clipping must match.
    """

    def __init__(self, *, padding: int, label_smoothing: float = 0.0) -> None:
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing must be at least 0 and below 1, not {label_smoothing}")
        self.padding, self.label_smoothing = padding, label_smoothing

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the loss of logits_BTV for the tokens y_BT."""
        total = cross_entropy(
            to_float32(only_output(output)).flatten(0, 1),
            target.flatten(),
            ignore_index=self.padding,
            label_smoothing=self.label_smoothing,
            reduction="sum",
        )
        return total / len(target)


class Heads:
    """Auxiliary classifiers weighted into the loss (Szegedy et al., GoogLeNet, 2014, arXiv:1409.4842, section 5).

        L = L_last + w sum_i L_i,   w = 0.3 in the paper

    In an evaluation the net has no auxiliary heads, and the loss is that of the last head.
    """

    def __init__(self, loss: Loss, *, weight: float) -> None:
        self.loss, self.weight = loss, weight

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the loss of one tensor of logits, or of a tuple of logits with the last head's first."""
        if isinstance(output, Tensor):
            return self.loss(output, target)
        last, *auxiliary = output
        total = self.loss(last, target)
        for logits in auxiliary:
            total = total + self.weight * self.loss(logits, target)
        return total


class OwnLoss:
    """A user's loss `loss(output, target)`, whose result is checked; `name` stands in error messages."""

    def __init__(self, loss: Callable[[Output, Tensor], Any], *, name: str) -> None:
        self._loss, self._name = loss, name

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the loss; raise TypeError if it is not one number."""
        loss = self._loss(output, target)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            found = f"a tensor of shape {list(loss.shape)}" if isinstance(loss, Tensor) else f"a {type(loss).__name__}"
            raise TypeError(f"the loss {self._name} returned {found}, not a scalar tensor: the mean over the batch")
        return loss.reshape(())


@dataclass(frozen=True)
class LeastOutputs:
    """At least `count` outputs along a dimension of logits; `stated`: what of the spec needs them.

    A target that is no output is an IndexError of torch on a CPU, and on a GPU an assertion that ends the process later
    and names nothing. So the sizes are compared before each loss, which takes no more than the shape of the output.
    """

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
