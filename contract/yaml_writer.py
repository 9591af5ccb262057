"""Writer of YAML documents for people: fields in the order of the document, one value per line."""

from collections.abc import Mapping
from typing import Any

import yaml

from contract.yaml_scalars import PLAIN_SCALARS

ESCAPED = "\x85\u2028\u2029\ufeff"  # line breaks and the mark of byte order, which only double quotes keep


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that quotes a text which yaml_reader, or a reader of YAML 1.1, would read as another type."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return true: an object that occurs twice is written twice, because people read no anchors."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if any(character in text for character in ESCAPED) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
for scalars in PLAIN_SCALARS:
    _Dumper.add_implicit_resolver(scalars.tag, scalars.pattern, scalars.first_characters)


def write_yaml(document: Mapping[str, Any]) -> str:
    """Return the document as YAML, which yaml_reader reads as the same document."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
