"""The plain scalars of YAML 1.2's core schema, by which yaml_reader reads a document and yaml_writer quotes texts."""

import re
from typing import NamedTuple


class PlainScalars(NamedTuple):
    """The texts without quotes that are a value of one type."""

    type_name: str
    pattern: re.Pattern[str]
    first_characters: list[str]

    @property
    def tag(self) -> str:
        """The type as YAML names it."""
        return f"tag:yaml.org,2002:{self.type_name}"


FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
PLAIN_SCALARS = [
    PlainScalars(name, re.compile(rf"(?:{pattern})\Z"), first)
    for name, pattern, first in [
        ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("bool", "true|True|TRUE|false|False|FALSE", list("tTfF")),
        ("int", "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
        ("float", FLOAT, list("-+.0123456789")),
    ]
]
