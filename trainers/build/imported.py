"""Call the functions of a user that a spec names."""

import importlib
from typing import Any

from contract.spec.choices.imported import Imported


def call_function(function: str, *arguments: Any, **options: Any) -> Any:
    """Call `package.module:name` and return the result.

    Raises ValueError if there is no such module or name, and TypeError if it cannot be called; exceptions of the module
    and of the function pass through.
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
    if not callable(make):
        raise TypeError(f"{function} is a {type(make).__name__}, not a function or class")
    return make(*arguments, **options)


def make_callable(function: str, **options: Any) -> Any:
    """Call `package.module:name`, and return its result, which must be callable."""
    result = call_function(function, **options)
    if not callable(result):
        raise TypeError(f"{function} returned {describe(result)}, not a function")
    return result


def make_part(part: Imported, *arguments: Any, **more: Any) -> Any:
    """Return the result of a part's function with its options and further arguments."""
    return call_function(part.function, *arguments, **more, **part.options)


def describe(value: Any) -> str:
    """Return a value's type in an error message, such as `an int`."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}" if value is not None else "None"
