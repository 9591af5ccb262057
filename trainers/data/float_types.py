"""The floating-point types of a net, to which a user's data of other types is converted.

NumPy's default is float64 and many files have float16, while most nets have float32 weights: torch refuses to multiply
the two, and takes a gradient of the wrong type from a target of another type.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class FloatTypes:
    """The types of a net's parameters, the first parameter's first; none: nothing is converted."""

    types: tuple[torch.dtype, ...] = ()

    @classmethod
    def of(cls, model: nn.Module) -> "FloatTypes":
        """Return the types of a model's floating-point parameters."""
        return cls(tuple(dict.fromkeys(p.dtype for p in model.parameters() if p.is_floating_point())))

    def convert(self, x: Tensor) -> Tensor:
        """Return a floating-point tensor in the net's first type if no parameter has its type; else the tensor."""
        if not self.types or x.dtype in self.types or not x.is_floating_point():
            return x
        return x.to(self.types[0])
