"""Tests of the OpenAPI document: everything has a description and a valid example, and operations have stable ids."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jsonschema_rs
import pytest

from api.app import create_app
from contract.settings import Settings
from tests.testing.api import TOKEN

Schema = dict[str, Any]

# Generated clients name their functions by these ids: a changed id breaks them, so it belongs in the changelog.
OPERATION_IDS = [
    "add_points",
    "add_recorded_runs",
    "add_report_block",
    "create_experiment",
    "create_notify_rule",
    "create_notify_target",
    "create_recording",
    "create_report",
    "create_schedule",
    "create_view",
    "delete_experiment",
    "delete_notify_rule",
    "delete_notify_target",
    "delete_run",
    "delete_schedule",
    "download_artifact",
    "download_file",
    "export_points",
    "export_report",
    "export_runs",
    "extend_run",
    "extend_search",
    "get_answer",
    "get_checkpoint_advice",
    "get_chunks",
    "get_curves_of_runs",
    "get_events",
    "get_experiment",
    "get_experiment_curves",
    "get_experiment_document",
    "get_experiment_points",
    "get_experiment_size",
    "get_field_names",
    "get_field_values",
    "get_health",
    "get_kfac_price",
    "get_metrics",
    "get_notify_deliveries",
    "get_notify_rules",
    "get_notify_targets",
    "get_plan",
    "get_prices",
    "get_rank_times",
    "get_readiness",
    "get_report",
    "get_reports",
    "get_reuse",
    "get_run",
    "get_run_comparison",
    "get_run_curves",
    "get_run_differences",
    "get_run_document",
    "get_run_environment",
    "get_run_groups",
    "get_run_log",
    "get_run_points",
    "get_run_size",
    "get_run_table",
    "get_run_writers",
    "get_schedule",
    "get_schema",
    "get_search",
    "get_snapshot",
    "get_snapshot_differences",
    "get_snapshot_file",
    "get_stacks",
    "get_steps",
    "get_tensor_prices",
    "get_view",
    "get_views",
    "list_artifacts",
    "list_checkpoints",
    "list_clusters",
    "list_deletions",
    "list_devices",
    "list_experiment_runs",
    "list_experiments",
    "list_failures",
    "list_files",
    "list_node_failures",
    "list_recipes",
    "list_runs",
    "list_schedules",
    "list_snapshot_files",
    "patch_experiment",
    "patch_notify_target",
    "patch_report",
    "patch_run",
    "patch_schedule",
    "patch_view",
    "pause_search",
    "plan_training",
    "post_experiment_restore",
    "post_run_points",
    "post_run_restore",
    "predict_starts",
    "preview_scripts",
    "replace_report_text",
    "resume_search",
    "retry_experiment",
    "retry_run",
    "send_test_message",
    "stop_experiment",
    "stop_run",
    "store_snapshot",
    "upload_blobs",
]


class Part(NamedTuple):
    """A field, a parameter, an operation or a model of the document, by name, with its schema if it has a value."""

    name: str
    description: str
    schema: Schema | None = None


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Schema:
    home = tmp_path_factory.mktemp("home")
    return create_app(Settings(home=home, database=f"sqlite:///{home}/unused.db", token=TOKEN)).openapi()


def operations(document: Schema) -> Iterator[tuple[str, Schema]]:
    for path in document["paths"].values():
        yield from ((operation["operationId"], operation) for operation in path.values())


def parts(document: Schema) -> Iterator[Part]:
    """Yield everything that must have a description."""
    for id_, operation in operations(document):
        yield Part(id_, operation.get("description", ""))
        if "requestBody" in operation:
            yield Part(f"{id_} body", operation["requestBody"].get("description", ""))
        for parameter in operation.get("parameters", []):
            yield Part(f"{id_}?{parameter['name']}", parameter.get("description", ""), parameter["schema"])
    for name, model in document["components"]["schemas"].items():
        if "properties" in model:
            yield Part(name, model.get("description", ""))
            for field, schema in model["properties"].items():
                yield Part(f"{name}.{field}", schema.get("description", ""), schema)


def has_example(schema: Schema) -> bool:
    """Return whether a schema has an example, lists its values, or leads to models, whose fields have examples."""
    if schema.get("examples") or any(key in schema for key in ("const", "enum", "$ref", "oneOf")):
        return True
    choices = [choice for choice in schema.get("anyOf", []) if choice.get("type") != "null"]
    inner = [*choices, *(schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict))]
    return bool(inner) and all(map(has_example, inner))


def undescribed(document: Schema) -> list[str]:
    return [part.name for part in parts(document) if not part.description.strip()]


def without_example(document: Schema) -> list[str]:
    return [part.name for part in parts(document) if part.schema is not None and not has_example(part.schema)]


def invalid_examples(document: Schema) -> list[str]:
    """Return the fields and parameters with an example that their own schema refuses."""
    found = []
    for part in parts(document):
        if part.schema and "examples" in part.schema:
            whole = {**part.schema, "components": document["components"]}  # the references of the schema lead there
            validator = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
            bad = [example for example in part.schema["examples"] if not validator.is_valid(example)]
            found += [f"{part.name}: {example!r}" for example in bad]
    return found


@pytest.mark.ring("all")
def test_every_operation_parameter_and_field_has_a_description(document: Schema) -> None:
    assert undescribed(document) == []


@pytest.mark.ring("all")
def test_every_parameter_and_field_has_an_example(document: Schema) -> None:
    assert without_example(document) == []


@pytest.mark.ring("all")
def test_every_example_is_valid(document: Schema) -> None:
    assert invalid_examples(document) == []


def test_the_document_has_all_fields(document: Schema) -> None:
    """The tests above would pass on an empty document."""
    named = {part.name for part in parts(document)}
    assert {"RunView.state", "RunSpec.batch", "Problem.errors", "Folder.path", "list_runs?sort"} <= named
    assert len(named) > 450


def test_operation_ids_are_stable_and_unique(document: Schema) -> None:
    assert sorted(id_ for id_, _ in operations(document)) == OPERATION_IDS


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"type": "integer"}, ["M.f"]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, ["M.f"]),
        ({"type": "array", "items": {"type": "string"}}, ["M.f"]),
        ({"type": "object", "additionalProperties": True}, ["M.f"]),
        ({"type": "array", "items": {"$ref": "#/components/schemas/M"}}, []),
        ({"anyOf": [{"$ref": "#/components/schemas/M"}, {"type": "null"}]}, []),
        ({"type": "integer", "examples": [3]}, []),
    ],
)
def test_a_planted_field_without_an_example_is_found(schema: Schema, found: list[str]) -> None:
    planted = {"paths": {}, "components": {"schemas": {"M": {"description": "A model.", "properties": {"f": schema}}}}}
    assert without_example(planted) == found
    assert undescribed(planted) == ["M.f"]


@pytest.mark.parametrize("example", [{"state": "on"}, {}, "on"])
def test_a_planted_example_that_is_not_valid_is_found(example: Any) -> None:
    state: Schema = {
        "type": "object",
        "required": ["state"],
        "properties": {"state": {"$ref": "#/components/schemas/S"}},
    }
    field = {**state, "examples": [{"state": "off"}, example]}
    schemas = {"M": {"properties": {"f": field}}, "S": {"enum": ["off"]}}
    assert invalid_examples({"paths": {}, "components": {"schemas": schemas}}) == [f"M.f: {example!r}"]
