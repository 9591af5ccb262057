"""The spec of a search for near-duplicates: what it refuses and fills in, and that older specs stay as they are."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from contract.reuse.key import canonical_spec, reuse_key
from contract.spec.any_run import read_run
from contract.spec.dedup.dedup import Dedup
from contract.spec.expanded import Expanded, read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.spec.program.run import ProgramSpec
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

IMAGES = {"images": "/data/images"}
OUTPUTS = {
    "list": "dedup/images.txt",
    "kept": "dedup/kept.txt",
    "report": "dedup/report.html",
    "groups": "dedup/report.json",
}
VOLUME = {"chunk": [8, 8, 8], "operators": [{"kind": "read", "path": "em"}, {"kind": "write", "path": "out"}]}
SLURM = {"kind": "slurm", "nodes": 2, "cpus_per_rank": 4}
# a program as services stored it before the section existed
STORED = json.loads(
    '{"kind": "program", "command": "train", "launcher": "srun", "resources": {"kind": "local", "ranks_per_node": 1, '
    '"gpus_per_rank": null}, "environment": {"setup": [], "modules": [], "conda": null, "venv": null, "container": '
    'null, "variables": {}}, "working_folder": null, "code": "' + "5e" * 32 + '", "subfolder": null, "parameters": {}, '
    '"parameter_prefix": null, "metrics": [], "steps": 0, "time_split": true, "stall_minutes": 10.0, '
    '"system_metrics_s": 15.0, "retries": {"preempted": 100, "node_failure": 5, "time_limit": 100, "out_of_memory": 0, '
    '"failure": 0, "backoff_s": 30.0, "backoff_most_s": 1800.0}, "volume": null, "inputs": {}, "outputs": {}, "keep": '
    '{"kind": "all"}, "reuse": false}'
)
STORED_KEY = "fcf812b75d8659483bcd99e9a7f44f05c79d370a020b498733ab252c440cc6ea"


def program(**fields: Any) -> dict[str, Any]:
    return {"kind": "program", **fields}


def issues(**fields: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        read_experiment({"name": "dedup", "base": program(**fields)})
    return {issue.path: issue.message for issue in issues_of(refused.value)}


@pytest.mark.parametrize(
    ("fields", "path", "words"),
    [
        ({"dedup": {}}, "dedup.images", "required field"),
        ({"dedup": {"images": "data"}}, "dedup.images", "'data' is a relative path"),
        ({"dedup": IMAGES | {"images": "/a\nb"}}, "dedup.images", "one line of text"),
        ({"dedup": IMAGES | {"bits": 64, "threshold": 64}}, "dedup.threshold", "0 to 31 of the 64 bits"),
        ({"dedup": IMAGES | {"bits": 64, "threshold": 48}}, "dedup.threshold", "0 to 31 of the 64 bits"),
        ({"dedup": IMAGES | {"threshold": 256}}, "dedup.threshold", "less than 256"),
        ({"dedup": {"images": "/data/{inputs.x}"}}, "dedup.images", "placeholder"),
        ({"dedup": IMAGES | {"threshold": -1}}, "dedup.threshold", "greater than or equal to 0"),
        ({"dedup": IMAGES | {"bits": 128}}, "dedup.bits", "64 or 256"),
        ({"dedup": IMAGES | {"hash": "md5"}}, "dedup.hash", "'perceptual'"),
        ({"dedup": IMAGES | {"keep": "last"}}, "dedup.keep", "'first' or 'largest'"),
        ({"dedup": IMAGES | {"hold_out": 0}}, "dedup.hold_out", "greater than or equal to 1"),
        ({"dedup": IMAGES | {"threads": 4}}, "dedup.threads", "unknown field"),
        ({"dedup": "/data"}, "dedup", "expected an object"),
        ({"dedup": IMAGES, "volume": VOLUME}, "volume", "either `dedup` or `volume`"),
        ({"dedup": IMAGES, "resources": SLURM}, "resources.nodes", "have 2 ranks"),
        (
            {"dedup": IMAGES, "launcher": "srun", "resources": {"kind": "local", "ranks_per_node": 3}},
            "resources.ranks_per_node",
            "have 3 ranks",
        ),
        ({"dedup": None}, "command", "required field"),
        ({}, "command", "required field"),
    ],
)
def test_a_wrong_section_is_refused_with_its_field(fields: dict[str, Any], path: str, words: str) -> None:
    found = issues(**fields)
    assert found.keys() == {f"base.{path}"}
    assert words in found[f"base.{path}"]


def test_the_highest_threshold_of_each_number_of_bits_is_accepted() -> None:
    assert Dedup.model_validate(IMAGES | {"bits": 64, "threshold": 31}).similar_bits == 31
    assert Dedup.model_validate(IMAGES | {"threshold": 127}).similar_bits == 127


def test_without_a_threshold_it_is_that_of_the_number_of_bits() -> None:
    assert Dedup.model_validate(IMAGES).similar_bits == 48
    assert Dedup.model_validate(IMAGES | {"bits": 64}).similar_bits == 6


def test_the_threshold_follows_an_axis_of_numbers_of_bits() -> None:
    grid = {"name": "bits", "base": program(dedup=IMAGES), "axes": {"dedup.bits": [64, 256]}}
    runs = [run for _, run in read_experiment(grid).points]
    found = [run.dedup for run in runs if isinstance(run, ProgramSpec)]
    assert [(one.bits, one.similar_bits) for one in found if one] == [(64, 6), (256, 48)]


def test_a_search_takes_an_earlier_result_only_if_its_images_are_an_input() -> None:
    wish = program(dedup=IMAGES, code="5e" * 32, reuse=True)
    assert "the data in /data/images may change" in issues(**wish)["base.reuse"]
    run = read_run({**wish, "inputs": {"images": "/data/images"}})
    keys = [reuse_key(run, {"images": content}) for content in ("aa", "bb")]
    assert None not in keys
    assert keys[0] != keys[1]


def test_what_a_section_leaves_out_is_stored_as_if_it_were_written() -> None:
    run = ProgramSpec.model_validate(program(dedup=IMAGES))
    written = program(dedup=IMAGES, command="{job_python} -P -m trainers.data.dedup", launcher="plain", outputs=OUTPUTS)
    assert run == ProgramSpec.model_validate(written)
    stored = run.model_dump(mode="json")
    assert {name: stored[name] for name in written} == {**written, "dedup": run.model_dump()["dedup"]}
    assert stored["dedup"] == {
        **IMAGES,
        **{"hash": "perceptual", "bits": 256, "threshold": None, "keep": "first", "exact": False, "hold_out": None},
    }
    known = {"code": "5e" * 32, "inputs": {"images": "/data/images"}}
    keys = {reuse_key(read_run({**one, **known}), {"images": "aa"}) for one in (program(dedup=IMAGES), written)}
    assert len(keys) == 1
    assert None not in keys
    assert ProgramSpec.model_validate(stored) == run


def test_a_field_that_the_document_has_remains() -> None:
    fields = {"command": "nice python -m trainers.data.dedup", "launcher": "srun", "outputs": {"all": "dedup"}}
    run = ProgramSpec.model_validate(program(dedup=IMAGES, **fields))
    assert (run.command, run.launcher, run.outputs) == (fields["command"], "srun", {"all": "dedup"})
    assert ProgramSpec.model_validate(program(dedup=IMAGES, outputs={})).outputs == OUTPUTS


def test_a_volume_may_leave_its_command_out_and_keeps_its_launcher() -> None:
    run = ProgramSpec.model_validate(program(volume=VOLUME))
    assert (run.command, run.launcher, run.outputs) == ("{job_python} -P -m trainers.volume", "srun", {})


def test_the_document_is_not_changed() -> None:
    document = program(dedup=dict(IMAGES))
    first = ProgramSpec.model_validate(document)
    first.outputs["more"] = "more"
    assert document == program(dedup=IMAGES)
    assert ProgramSpec.model_validate(document).outputs == OUTPUTS


def test_the_schema_demands_no_command() -> None:
    schema = ProgramSpec.model_json_schema()
    assert "command" in schema["properties"]
    assert "command" not in schema.get("required", [])


def test_a_stored_program_from_before_the_section_has_its_document_and_its_key() -> None:
    run = read_run(STORED)
    assert run.model_dump(mode="json") == STORED
    assert reuse_key(run, {}) == STORED_KEY
    assert "dedup" not in canonical_spec(run.model_dump(mode="json"))


def steps(*later: dict[str, Any], **fields: Any) -> Expanded:
    images = {"name": "images", "base": program(command="make", outputs={"images": "images"})}
    search = {"name": "search", "base": program(dedup={"images": "{steps.images.outputs.images}"}), **fields}
    return read_experiment({"name": "flow", "steps": [images, search, *later]})


def test_a_later_step_refers_to_an_output_that_is_filled_in() -> None:
    later = {"name": "use", "base": program(command="cat {steps.search.outputs.list}")}
    flow = steps(later)
    assert flow.spec.steps[1].base["outputs"] == OUTPUTS
    assert flow.spec.steps[1].base["launcher"] == "plain"
    assert ExperimentSpec.from_stored(flow.spec.model_dump(mode="json")).steps == flow.spec.steps


def test_the_threshold_varies_over_the_runs_of_a_step() -> None:
    every = "cat {steps.search.all.outputs.kept} {steps.search.all.spec.dedup.threshold}"
    flow = steps({"name": "use", "base": program(command=every)}, axes={"dedup.threshold": [24, 48]})
    assert flow.spec.steps[1].size == 2
    with pytest.raises(ValidationError) as refused:
        steps(axes={"dedup.threshold": [24, 127, 256]})
    assert [issue.path for issue in issues_of(refused.value)] == ["steps.1.axes.dedup.threshold"]
