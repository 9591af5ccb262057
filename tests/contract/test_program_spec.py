"""A program run's spec: what it accepts, and what it refuses with the field's path."""

import pytest
from pydantic import ValidationError

from agent.program.placeholders import fill
from contract.spec.expanded import Expanded, read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.spec.program.run import ProgramSpec
from contract.spec.run import RunSpec
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

SLURM = {"kind": "slurm", "partition": "gpu", "nodes": 2, "ranks_per_node": 4}


def program(**fields: object) -> Expanded:
    base = {"kind": "program", "command": "python train.py", **fields}
    return read_experiment({"name": "own script", "base": base})


def issues(**fields: object) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        program(**fields)
    return {issue.path: issue.message for issue in issues_of(refused.value)}


def test_axes_vary_the_parameters_of_a_program() -> None:
    base = {"kind": "program", "command": "python train.py --lr {lr}", "parameters": {"lr": 0.1}}
    made = read_experiment({"name": "sweep", "base": base, "axes": {"parameters.lr": [0.1, 0.2]}})
    runs = [run for _, run in made.points]
    assert [run.parameters for run in runs if isinstance(run, ProgramSpec)] == [{"lr": 0.1}, {"lr": 0.2}]


def test_a_document_without_a_kind_is_an_engine_run() -> None:
    base = {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 0.1}, "batch": 64, "epochs": 1}
    assert isinstance(read_experiment({"name": "engine", "base": base}).spec.base, RunSpec)


def test_an_issue_of_the_base_has_the_documents_path_for_both_kinds() -> None:
    assert issues(launcher="ssh").keys() == {"base.launcher"}
    with pytest.raises(ValidationError) as refused:
        read_experiment({"name": "x", "base": {"optimizer": {"kind": "sgd", "momentum": 2.0}}})
    assert "base.optimizer.momentum" in {issue.path for issue in issues_of(refused.value)}


def test_a_stored_program_is_read_back_equal() -> None:
    made = program(parameters={"lr": 0.1}, resources=SLURM)
    assert ExperimentSpec.from_stored(made.spec.model_dump(mode="json")).base == made.spec.base


@pytest.mark.parametrize(
    ("fields", "path", "part"),
    [
        ({"command": "python train.py --lr {rate}", "parameters": {"lr": 1}}, "base.command", "{rate} is no parameter"),
        ({"command": []}, "base.command", "at least 1"),
        ({"command": ["", "x"]}, "base.command", "first word is empty"),
        ({"parameters": {"run_folder": 1}}, "base.parameters.run_folder", "choose another name"),
        ({"launcher": "plain", "resources": SLURM}, "base.launcher", "8 ranks"),
        ({"environment": {"conda": "a", "venv": "/b"}}, "base.environment.venv", "one Python"),
        ({"environment": {"variables": {"SLURM_JOB_ID": "1"}}}, "base.environment.variables.SLURM_JOB_ID", "reserved"),
        ({"environment": {"setup": ["a\nb"]}}, "base.environment.setup.0", "one line of text"),
        ({"subfolder": "a"}, "base.subfolder", "needs `code`"),
        ({"code": "0" * 64, "subfolder": "a/../.."}, "base.subfolder", "leaves"),
        ({"code": "0" * 64, "working_folder": "/a"}, "base.working_folder", "remove"),
        ({"environment": {"container": {"kind": "pyxis", "image": "i"}}}, "base.environment.container.kind", "Slurm"),
    ],
)
def test_a_contradiction_is_refused_with_its_field(fields: dict[str, object], path: str, part: str) -> None:
    found = issues(**fields)
    assert any(one.startswith(path) and part in message for one, message in found.items()), found


@pytest.mark.parametrize(
    ("text", "is_shell", "filled"),
    [
        ("--lr {lr}", True, "--lr 0.1"),
        ("--name {name}", True, "--name 'two words'"),
        ("--name={name}", False, "--name=two words"),
        ('{{lr}} {"a": {"b": 1}} { echo; } {list}', False, '{lr} {"a": {"b": 1}} { echo; } [1, 2]'),
    ],
)
def test_placeholders_are_filled_and_other_braces_stay(text: str, is_shell: bool, filled: str) -> None:
    values = {"lr": 0.1, "name": "two words", "list": [1, 2]}
    assert fill(text, values, is_shell=is_shell) == filled


def test_the_sources_of_metrics_are_checked_when_the_spec_is_posted() -> None:
    metrics = [
        {"kind": "tensorboard"},
        {"kind": "json_lines", "file": "m.jsonl"},
        {"kind": "output", "pattern": "l=(?P<l>.)"},
    ]
    made = program(metrics=metrics)
    assert ExperimentSpec.from_stored(made.spec.model_dump(mode="json")).base == made.spec.base
    wrong = issues(
        metrics=[
            {"kind": "output", "pattern": "("},
            {"kind": "output", "pattern": "step (?P<step>.)"},
            {"kind": "output", "pattern": "".join(f"(?P<m{number}>.)" for number in range(51))},
            {"kind": "json_lines"},
            {"kind": "tensorboard", "folder": "a\nb"},
            {"kind": "csv"},
        ]
    )
    assert wrong.keys() == {
        *(f"base.metrics.{number}.pattern" for number in range(3)),
        "base.metrics.3.file",
        "base.metrics.4.folder",
        "base.metrics.5",
    }
    assert "is no regular expression" in wrong["base.metrics.0.pattern"]
    assert "names no metric" in wrong["base.metrics.1.pattern"]
    assert "51 named groups" in wrong["base.metrics.2.pattern"]
    assert "the kinds are" in wrong["base.metrics.5"]


def test_the_rank_of_a_source_of_output_is_one_of_the_resources() -> None:
    source = {"kind": "output", "pattern": "l=(?P<l>.)"}
    nodes = {"kind": "slurm", "nodes": 2, "ranks_per_node": 2}
    ranks = [{}, {"rank": 0}, {"rank": 3}, {"rank": "mean"}, {"rank": "any"}]
    made = program(metrics=[source | rank for rank in ranks], resources=nodes)
    assert ExperimentSpec.from_stored(made.spec.model_dump(mode="json")).base == made.spec.base
    stored = made.spec.model_dump(mode="json")["base"]["metrics"]
    assert stored == [source, source, *(source | rank for rank in ranks[2:])], "rank 0 is absent, as before the field"
    wrong = issues(metrics=[source | {"rank": 4}], resources=nodes)
    assert wrong == {"base.metrics.0.rank": "there is no rank 4: the ranks are 0 to 3"}
    assert issues(metrics=[source | {"rank": 1}]) == {"base.metrics.0.rank": "there is no rank 1: the only rank is 0"}
    (message,) = issues(metrics=[source | {"rank": "all"}]).values()
    assert "'all' is no rank: write a number from 0, `mean` or `any`" in message


def test_resources_with_options_can_be_a_key() -> None:
    need = program(resources={**SLURM, "options": {"exclusive": True}}).spec.base.resources
    assert {need: 1}[need.model_copy()] == 1


@pytest.mark.parametrize(
    ("option", "value", "hint"),
    [
        ("reservaton", "course", "did you mean reservation?"),
        ("mem", "4G", "is set by `resources.memory_gb`"),
        ("signal", "USR1", "is set by the service"),
        ("exclusive", False, "remove the option"),
        ("reservation", True, "needs a value"),
    ],
)
def test_an_unknown_option_of_sbatch_is_refused(option: str, value: object, hint: str) -> None:
    assert hint in issues(resources={**SLURM, "options": {option: value}})[f"base.resources.options.{option}"]


def test_gpus_are_requested_once() -> None:
    assert "base.resources.gres" in issues(resources={**SLURM, "gres": "gpu:4", "gpus_per_rank": 1})
    need = program(resources={**SLURM, "gpus_per_rank": 2}).spec.base.resources
    assert need.kind == "slurm"
    assert need.devices == "gpu:8"


@pytest.mark.parametrize(
    ("resources", "field", "part"),
    [
        ({"memory_gb": 1, "options": {"mem-per-cpu": "300M"}}, "mem-per-cpu", "`memory_gb` sets (1)"),
        ({"memory_gb": 1, "options": {"mem-per-gpu": "300M"}}, "mem-per-gpu", "`memory_gb` sets (1)"),
        ({"options": {"mem-per-cpu": "1G", "mem-per-gpu": "1G"}}, "mem-per-gpu", "beside --mem-per-cpu"),
        ({"options": {"core-spec": 1, "thread-spec": 1}}, "thread-spec", "beside --core-spec"),
        ({"options": {"cpus-per-gpu": 2}}, "cpus-per-gpu", "is set by `resources.cpus_per_rank`"),
    ],
)
def test_options_that_sbatch_refuses_together_are_refused_at_once(
    resources: dict[str, object], field: str, part: str
) -> None:
    found = issues(resources={**SLURM, **resources})
    assert part in found[f"base.resources.options.{field}"]
