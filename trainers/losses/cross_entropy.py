"""Cross-entropy with label smoothing (Szegedy et al., 2016, arXiv:1512.00567, section 7).

q(k) = (1 - eps) [k = y] + eps / K
L    = -sum_k q(k) log p(k),   p = softmax(logits)

With eps = 0 this is the plain cross-entropy -log p(y). Its minimum is the entropy of q, which is above 0 for eps > 0.
"""

from torch import Tensor
from torch.nn.functional import cross_entropy

from trainers.losses.loss import Output, only_output, to_float32


class CrossEntropy:
    """The mean over a batch of images; `label_smoothing` is eps, at least 0 and below 1."""

    def __init__(self, *, label_smoothing: float = 0.0) -> None:
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing must be at least 0 and below 1, not {label_smoothing}")
        self.label_smoothing = label_smoothing

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the loss of logits_BK for the classes y_B."""
        return cross_entropy(to_float32(only_output(output)), target, label_smoothing=self.label_smoothing)
