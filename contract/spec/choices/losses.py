"""The spec of the training loss."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.choices.imported import Imported


class CrossEntropy(Spec):
    """Cross-entropy of the classes; of sentence pairs, of the tokens."""

    kind: Literal["cross_entropy"] = "cross_entropy"


class ImportedLoss(Imported):
    """A user's loss: the function returns `loss(output, target)`, which returns the mean over the batch as a scalar."""


Loss = Annotated[CrossEntropy | ImportedLoss, Field(discriminator="kind")]
