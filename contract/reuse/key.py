"""The key of what a run computes: equal for runs with an equal spec, equal code and equal inputs."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from contract.spec.any_run import AnyRun

# fields that decide when a run starts, ends or is tried again and what remains of it, not what it computes
WITHOUT_EFFECT = frozenset({"retries", "keep", "reuse", "compare_replicas", "stall_minutes", "system_metrics_s"})
RESOURCES_WITHOUT_EFFECT = frozenset({"minutes", "memory_gb", "account", "qos"})


def canonical_spec(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a run's document that decide what the run computes; of its inputs the names alone."""
    fields = {name: value for name, value in document.items() if name not in WITHOUT_EFFECT}
    resources = {name: value for name, value in fields["resources"].items() if name not in RESOURCES_WITHOUT_EFFECT}
    if fields.get("metrics", ()) is None:
        fields["metrics"] = []  # where metrics are read from by default has no effect; runs from before have this value
    return {**fields, "resources": resources, "inputs": sorted(fields.get("inputs", ()))}


def reuse_key(run: AnyRun, inputs: Mapping[str, str], document: Mapping[str, Any] | None = None) -> str | None:
    """Return the key of a run whose inputs have these hashes, by name; None if its code or data is not known.

    `document`: the run as data, with hashes in place of the paths of other runs' artifacts.
    """
    if run.reuse_obstacle is not None or set(inputs) != set(run.inputs):
        return None
    spec = canonical_spec(run.model_dump(mode="json") if document is None else document)
    whole = {"spec": spec, "inputs": dict(inputs), "code": run.computing_code}
    return sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
