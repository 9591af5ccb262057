"""A user's own net, by the name of the function that makes it."""

import importlib
from typing import Any

from torch import nn


def imported(function: str, **arguments: Any) -> nn.Module:
    """Call `package.module:function` with keyword arguments and return the net that it makes.

    Raises ValueError where there is no such module or function, and TypeError where what it returns is no net; what the
    module or the function itself raises passes through.
    """
    place, _, name = function.partition(":")
    try:
        module = importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{place}.".startswith(f"{error.name}."):
            raise  # the module is there, and something that it imports is not
        raise ValueError(f"{function} cannot be imported: there is no module {error.name!r} here") from error
    make = getattr(module, name, None)
    if make is None:
        raise ValueError(f"{function} cannot be imported: {module.__file__} has no {name!r}")
    net = make(**arguments)
    if not isinstance(net, nn.Module):
        raise TypeError(f"{function} returned a {type(net).__name__}, not a torch.nn.Module")
    return net
