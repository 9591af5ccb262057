"""The shape of every part of a run that is the user's own: a function or class that the spec names, and its options."""

from typing import Literal

from pydantic import Field, JsonValue

from contract.spec.base import Spec


class Imported(Spec):
    """A part of the user's own: `package.module:name`, called with the options as keyword arguments."""

    kind: Literal["import"] = "import"
    """Selects the user's own function or class."""
    function: str = Field(max_length=500, examples=["my_package.my_module:make"])
    """`package.module:name` of a function or class, in the Python of the jobs."""
    options: dict[str, JsonValue] = Field(default={}, examples=[{"width": 64}])
    """Keyword arguments of the function."""
