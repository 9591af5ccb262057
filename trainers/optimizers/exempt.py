"""Parameters that are exempt from the layer-wise rate of LARS and LAMB, and from weight decay.

The LARS authors' Caffe exempts none; MLPerf's reference exempts biases and normalization (as Jia et al., 2018, for
weight decay); other implementations exempt all one-dimensional parameters. The results depend on this choice.
"""

from typing import Any, Literal, assert_never

from torch import nn
from torch.nn import Parameter
from torch.nn.modules.batchnorm import _NormBase

Exempt = Literal["none", "bias_and_norm", "one_dimensional"]
NORMS = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


def adapting_groups(model: nn.Module, skip: Exempt) -> list[dict[str, Any]]:
    """Return `model`'s parameters as groups for LARS or LAMB; exempt ones have no layer-wise rate and no decay."""
    return _groups(model, skip, {"adapt": True}, {"adapt": False})


def decaying_groups(model: nn.Module, no_weight_decay: Exempt) -> list[dict[str, Any]]:
    """Return `model`'s parameters as groups for any optimizer; exempt parameters have weight decay 0."""
    return _groups(model, no_weight_decay, {}, {"weight_decay": 0.0})


def _groups(
    model: nn.Module, exempt: Exempt, of_others: dict[str, Any], of_exempt: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the groups that are not empty, with their options."""
    groups: dict[bool, list[Parameter]] = {False: [], True: []}
    seen: set[Parameter] = set()
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            if p not in seen:  # tied weights belong to the first module that contains them
                seen.add(p)
                groups[_is_exempt(module, name, p, exempt=exempt)].append(p)
    options = {False: of_others, True: of_exempt}
    return [{"params": params, **options[key]} for key, params in groups.items() if params]


def _is_exempt(module: nn.Module, name: str, p: Parameter, *, exempt: Exempt) -> bool:
    match exempt:
        case "none":
            return False
        case "bias_and_norm":
            # The biases of recurrent layers have a suffix, such as bias_ih_l0.
            return name.startswith("bias") or isinstance(module, NORMS)
        case "one_dimensional":
            return p.ndim <= 1
        case _:
            assert_never(exempt)
