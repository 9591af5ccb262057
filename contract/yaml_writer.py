"""Writer of YAML documents for people: fields in the order of the document, one value per line."""

from collections.abc import Mapping
from typing import Any

import yaml


def write_yaml(document: Mapping[str, Any]) -> str:
    """Return the document as YAML, which yaml_reader reads as the same document."""
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
