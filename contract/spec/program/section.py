"""Sections of a program's spec, each of which has a command of its own: what a spec with a section may leave out.

What is left out is filled in before the spec is read, so a stored spec has it as if its author had written it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from contract.spec.dedup.options import COUNT, DOCUMENT, LIST, PAGE

DEDUP, VOLUME = "dedup", "volume"
DEDUP_FOLDER = "dedup"  # of the results, in the run's folder
DEDUP_OUTPUTS = MappingProxyType(
    {
        name: f"{DEDUP_FOLDER}/{file}"
        for name, file in (("list", LIST), ("kept", COUNT), ("report", PAGE), ("groups", DOCUMENT))
    }
)
SECTIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        DEDUP: {"command": "{job_python} -P -m trainers.data.dedup", "launcher": "plain", "outputs": DEDUP_OUTPUTS},
        VOLUME: {"command": "{job_python} -P -m trainers.volume"},
    }
)


def complete_program(document: Any) -> Any:
    """Return the document of a program with the fields that its section stands for; one without a section as it is.

    A field that the document has remains, but for outputs without any name.
    """
    if not isinstance(document, Mapping):
        return document
    section = next((name for name in SECTIONS if document.get(name) is not None), None)
    if section is None:
        return document
    fields = {name: dict(value) if isinstance(value, Mapping) else value for name, value in SECTIONS[section].items()}
    return {**document, **{name: value for name, value in fields.items() if _is_absent(document, name)}}


def _is_absent(document: Mapping[str, Any], name: str) -> bool:
    return name not in document or (name == "outputs" and document[name] == {})
