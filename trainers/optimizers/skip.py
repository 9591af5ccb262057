"""Which parameters LARS leaves to plain momentum SGD.

The authors' Caffe skips none; MLPerf's reference skips biases and normalization; others skip all that is
one-dimensional. The papers' figures depend on it, so it is a choice.
"""

from typing import Any, Literal, assert_never

from torch import nn
from torch.nn import Parameter
from torch.nn.modules.batchnorm import _NormBase

Skip = Literal["none", "bias_and_norm", "one_dimensional"]
NORMS = (_NormBase, nn.LayerNorm, nn.GroupNorm)


def param_groups(model: nn.Module, skip: Skip) -> list[dict[str, Any]]:
    """Return `model`'s parameters as groups for LARS: those to adapt, then those to skip, without empty groups."""
    groups: dict[bool, list[Parameter]] = {True: [], False: []}
    seen: set[Parameter] = set()
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            if p not in seen:  # tied weights belong to the module that comes first
                seen.add(p)
                groups[not _is_skipped(module, name, p, skip=skip)].append(p)
    return [{"params": params, "adapt": adapt} for adapt, params in groups.items() if params]


def _is_skipped(module: nn.Module, name: str, p: Parameter, *, skip: Skip) -> bool:
    match skip:
        case "none":
            return False
        case "bias_and_norm":
            return name == "bias" or isinstance(module, NORMS)
        case "one_dimensional":
            return p.ndim <= 1
        case _:
            assert_never(skip)
