"""The loss of a translation: cross-entropy summed over a sentence's tokens, averaged over sentences.

L = 1/B sum_b sum_t [y_bt is not padding] H(q_bt, p_bt)

with H and its label smoothing as in cross_entropy.py. The mean is over sentences and not over tokens, as in
TensorFlow's GNMT (Luong, Brevdo & Zhao, 2017): B is equal on all ranks and micro-batches, but the number of tokens is
not, and averaging means over tokens would give more weight to the tokens of ranks with short sentences. Gradients are
larger than for a mean over tokens, by a factor of the mean sentence length; learning rates and clipping must match.
"""

from torch import Tensor
from torch.nn.functional import cross_entropy

from trainers.losses.loss import Output, only_output, to_float32


class Translation:
    """The mean over a batch of sentences; target tokens equal to `padding` are ignored."""

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
