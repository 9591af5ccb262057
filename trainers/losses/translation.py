"""The loss of a translation: cross-entropy summed over a sentence's tokens, averaged over sentences.

L = 1/B sum_b sum_t [y_bt is no padding] H(q_bt, p_bt)

with H and its label smoothing as in cross_entropy.py. The mean is over sentences and not over tokens, as in
TensorFlow's GNMT (Luong, Brevdo & Zhao, 2017): B is the same on every rank and in every micro-batch, the number of
tokens is not, and a mean over ranks of means over tokens would weigh a token more where a rank's sentences happen to be
short. Gradients are longer than a mean over tokens gives, by the mean length of a sentence; rates and clipping go by
that.
"""

from torch import Tensor
from torch.nn.functional import cross_entropy

from trainers.losses.loss import Output, one, wide


class Translation:
    """The mean over a batch of sentences; target tokens equal to `padding` don't count."""

    def __init__(self, *, padding: int, label_smoothing: float = 0.0) -> None:
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label smoothing is from 0 to below 1, not {label_smoothing}")
        self.padding, self.label_smoothing = padding, label_smoothing

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Compare logits_BTV with the tokens y_BT."""
        total = cross_entropy(
            wide(one(output)).flatten(0, 1),
            target.flatten(),
            ignore_index=self.padding,
            label_smoothing=self.label_smoothing,
            reduction="sum",
        )
        return total / len(target)
