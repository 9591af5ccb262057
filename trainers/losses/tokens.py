"""The loss of a language model: the mean cross-entropy of a token over all positions of all samples.

Every sample has the same number of tokens, so the mean over the parts of a batch is the mean over the batch.
"""

from torch import Tensor

from trainers.losses.cross_entropy import CrossEntropy
from trainers.losses.loss import Output, only_output


class TokenCrossEntropy:
    """The mean over the tokens of a batch, with label smoothing as in cross_entropy.py."""

    def __init__(self, *, label_smoothing: float = 0.0) -> None:
        self._of_tokens = CrossEntropy(label_smoothing=label_smoothing)

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the loss of logits_BTV for the tokens next_BT."""
        return self._of_tokens(only_output(output).flatten(0, 1), target.flatten())
