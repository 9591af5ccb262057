"""Parameters that are exempt from the layer-wise rate of LARS and LAMB, and from weight decay.

The LARS authors' Caffe exempts none; MLPerf's reference exempts biases and normalization (as Jia et al., 2018, for
weight decay); other implementations exempt all one-dimensional parameters. The results depend on this choice.

A bias is a parameter whose name begins with `bias`, or a parameter of at most one dimension beside one of more
dimensions in the same module, such as MultiheadAttention's `in_proj_bias`. All parameters of torch's normalizations
belong to normalization, and those of at most one dimension of a user's module whose class has `norm` in its name. A
parametrized tensor (torch.nn.utils.parametrize) counts as the parameter that it stands for.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, assert_never, cast

from torch import nn
from torch.nn import Parameter
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.utils.parametrize import is_parametrized

Exempt = Literal["none", "bias_and_norm", "one_dimensional"]
NORMS = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


class _Place(NamedTuple):
    """A parameter, and what it is in its module."""

    parameter: Parameter
    module: nn.Module
    name: str
    is_beside_matrix: bool  # of at most one dimension, in a module that has a parameter of more


def adapting_groups(model: nn.Module, skip: Exempt) -> list[dict[str, Any]]:
    """Return `model`'s parameters as groups for LARS or LAMB; exempt ones have no layer-wise rate and no decay."""
    return _groups(model, skip, {"adapt": True}, {"adapt": False})


def decaying_groups(model: nn.Module, no_weight_decay: Exempt) -> list[dict[str, Any]]:
    """Return `model`'s parameters as groups for any optimizer; exempt parameters have weight decay 0."""
    return _groups(model, no_weight_decay, {}, {"weight_decay": 0.0})


def has_normalization(model: nn.Module) -> bool:
    """Return whether a module of `model` is a normalization, with parameters or without."""
    return bool(parameters_of_norms(model)) or any(isinstance(module, NORMS) for module in model.modules())


def parameters_of_norms(model: nn.Module) -> list[Parameter]:
    """Return the parameters of the normalizations of `model`."""
    return [place.parameter for place in _places(model) if _is_of_norm(place)]


def _groups(
    model: nn.Module, exempt: Exempt, of_others: dict[str, Any], of_exempt: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the groups that are not empty, with their options."""
    groups: dict[bool, list[Parameter]] = {False: [], True: []}
    for place in _places(model):
        groups[_is_exempt(place, exempt)].append(place.parameter)
    options = {False: of_others, True: of_exempt}
    return [{"params": params, **options[key]} for key, params in groups.items() if params]


def _places(model: nn.Module) -> Iterator[_Place]:
    """Yield each parameter once: tied weights belong to the first module that contains them."""
    stands_for = {
        made_of: (module, tensor)
        for module in model.modules()
        if is_parametrized(module)
        for tensor, made_of in cast(nn.ModuleDict, module.parametrizations).items()
    }
    seen: set[Parameter] = set()
    for module in model.modules():
        owner, tensor = stands_for.get(module, (module, ""))
        dimensions = _dimensions(owner)
        for name, p in module.named_parameters(recurse=False):
            if p not in seen:
                seen.add(p)
                is_beside_matrix = dimensions[tensor or name] <= 1 < max(dimensions.values())
                yield _Place(p, owner, tensor or name, is_beside_matrix)


def _dimensions(module: nn.Module) -> dict[str, int]:
    """Return the number of dimensions of each tensor that a module learns."""
    found = {name: p.ndim for name, p in module.named_parameters(recurse=False)}
    if is_parametrized(module):
        for name, made_of in cast(nn.ModuleDict, module.parametrizations).items():
            found[name] = max((p.ndim for p in made_of.parameters(recurse=False)), default=0)
    return found


def _is_exempt(place: _Place, exempt: Exempt) -> bool:
    match exempt:
        case "none":
            return False
        case "bias_and_norm":
            # the biases of recurrent layers have a suffix, such as bias_ih_l0
            return place.name.startswith("bias") or place.is_beside_matrix or _is_of_norm(place)
        case "one_dimensional":
            return place.parameter.ndim <= 1
        case _:
            assert_never(exempt)


def _is_of_norm(place: _Place) -> bool:
    if isinstance(place.module, NORMS):
        return True
    return "norm" in type(place.module).__name__.lower() and place.parameter.ndim <= 1
