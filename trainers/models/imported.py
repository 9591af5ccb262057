"""Nets of users, created by a function that the spec names."""

import importlib
from typing import Any

from torch import nn


def imported(function: str, **arguments: Any) -> nn.Module:
    """Call `package.module:function` with keyword arguments and return its net.

    Raises ValueError if there is no such module or function, and TypeError if the function does not return a net;
    exceptions of the module and of the function pass through.
    """
    path, _, name = function.partition(":")
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise  # the module exists, but one of its imports does not
        raise ValueError(f"{function} cannot be imported: there is no module {error.name!r}") from error
    make = getattr(module, name, None)
    if make is None:
        raise ValueError(f"{function} cannot be imported: {module.__file__} has no {name!r}")
    net = make(**arguments)
    if not isinstance(net, nn.Module):
        raise TypeError(f"{function} returned a {type(net).__name__}, not a torch.nn.Module")
    return net
