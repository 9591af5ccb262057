"""A program's parameters: as placeholders of its command, as files of the run folder, and as environment variables."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.program.placeholders import as_text, flatten
from runfiles.job_folder import replace_file

CONTROL = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # JSON has these as they are, YAML escaped
JSON_FILE, YAML_FILE = "parameters.json", "parameters.yaml"


def placeholder_values(spec: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the value of every placeholder: the parameters by their dotted names, and the paths of the run."""
    inputs, outputs = spec.get("inputs") or {}, spec.get("outputs") or {}
    paths = {
        "parameters_json": str(folder / JSON_FILE),
        "parameters_yaml": str(folder / YAML_FILE),
        "run_folder": str(folder),
        "checkpoint_folder": str(folder / "checkpoints"),
        "job_python": sys.executable,
        **{f"inputs.{name}": path for name, path in inputs.items()},
        **{f"outputs.{name}": str(folder / path) for name, path in outputs.items()},
    }
    return {**flatten(spec.get("parameters") or {}), **paths}


def parameter_variables(parameters: Mapping[str, Any], prefix: str | None) -> dict[str, str]:
    """Return the environment variables with the parameters; none without a prefix."""
    if prefix is None:
        return {}
    return {f"{prefix}{name.upper()}": as_text(value) for name, value in parameters.items()}


def write_files(parameters: Mapping[str, Any], folder: Path) -> None:
    """Write parameters.json and parameters.yaml; may raise OSError."""
    replace_file(folder / JSON_FILE, json.dumps(parameters, indent=2, ensure_ascii=False) + "\n")
    lines = [f"{_yaml_text(name)}: {to_yaml(value)}\n" for name, value in parameters.items()]
    replace_file(folder / YAML_FILE, "".join(lines) or "{}\n")


def to_yaml(value: Any) -> str:
    """Return the value on one line of YAML that YAML 1.1 readers understand too: 1e-05 would be a text for them."""
    if isinstance(value, dict):
        inside = ", ".join(f"{_yaml_text(name)}: {to_yaml(one)}" for name, one in value.items())
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(to_yaml, value))}]"
    if isinstance(value, str):
        return _yaml_text(value)
    text = json.dumps(value)
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text


def _yaml_text(text: str) -> str:
    """Return a text in quotes: `on` would be a truth value, and a raw control character no YAML."""
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
