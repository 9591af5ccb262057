"""Specs with steps: what is accepted, and what is refused with its place."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.expanded import read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.spec.steps.workflow import needs_of
from contract.validation import issues_of
from tests.testing.workflows import document, engine, program, step, workflow

pytestmark = pytest.mark.ring("quick")

OUTPUTS = {"outputs": {"data": "out/data.bin", "shards": "out/shards.json"}}


def prepare(**fields: Any) -> dict[str, Any]:
    """Return a step whose program has outputs; the spec of outputs is checked where it is defined."""
    return step("prepare", program(**OUTPUTS), **fields)


def issues(*steps: dict[str, Any], **fields: Any) -> dict[str, str]:
    """Return the messages of a refused document by their places."""
    with pytest.raises(ValidationError) as refused:
        read_experiment({**document(*steps), **fields})
    return {issue.path: issue.message for issue in issues_of(refused.value)}


def test_a_reference_implies_that_its_step_is_needed() -> None:
    made = workflow(
        step("a"),
        step("b", program(parameters={"of": "{steps.a.folder}"})),
        step("c", needs=["b"], when="steps.b.best.loss < 2"),
        step("d", program("run {x}", parameters={"x": 1}), axes={"parameters.x": ["{steps.a.run}", 2]}, needs=["c"]),
    )
    assert needs_of(made.spec.steps) == {"a": [], "b": ["a"], "c": ["b"], "d": ["c", "a"]}


def test_points_are_those_of_the_steps_that_wait_for_no_value() -> None:
    made = workflow(
        step("a", axes={"parameters.x": [1, 2]}, base=program(parameters={"x": 0})),
        step("b", program(parameters={"of": "{steps.a.all.folder}"})),
        step("c", engine(), axes={"seed": [0, 1, 2]}, needs=["b"]),
    )
    assert [None if points is None else len(points) for points in made.points_of_steps()] == [2, None, 3]
    assert len(made.points) == 5
    assert made.place("seed", 2) == "steps.2.axes.seed"
    assert made.place("batch", 4) == "steps.2.base.batch"
    assert made.place("parameters.x", 1) == "steps.0.axes.parameters.x"


def test_a_stored_workflow_is_read_again() -> None:
    made = workflow(step("a", axes={"parameters.x": [1, 2]}, base=program(parameters={"x": 0})), step("b", needs=["a"]))
    again = ExperimentSpec.from_stored(made.spec.model_dump(mode="json"))
    assert again.model_dump() == made.spec.model_dump()
    assert read_experiment(made.spec.model_dump(mode="json")).points == made.points


def test_an_experiment_has_a_base_or_steps() -> None:
    assert issues(step("a"), base=engine()) == {"steps": "an experiment has either `base` or `steps`"}
    assert issues() == {"base": "required field, or `steps` for a workflow"}
    assert issues(step("a"), axes={"seed": [1]}, pack=2) == {
        "axes": "each step of a workflow has its own: write it in a step",
        "pack": "each step of a workflow has its own: write it in a step",
    }


@pytest.mark.parametrize(
    ("steps", "place", "message"),
    [
        ([step("a"), step("a")], "steps.1.name", "step 0 has the name 'a' too: each step needs its own"),
        ([step("a", needs=["a"])], "steps.0.needs", "the steps wait for each other: a needs a"),
        (
            [step("z"), step("a", needs=["c"]), step("b", needs=["a"]), step("c", needs=["b"])],
            "steps.1.needs",
            "the steps wait for each other: a needs c needs b needs a",
        ),
        (
            [step("a", program(parameters={"x": "{steps.b.run}"})), step("b", needs=["a"])],
            "steps.0.needs",
            "the steps wait for each other: a needs b needs a",
        ),
        (
            [step("train"), step("b", needs=["trian"])],
            "steps.1.needs.0",
            "there is no step 'trian'; did you mean 'train'?",
        ),
        (
            [step("a"), step("b", program(parameters={"x": ["{steps.q.run}"]}))],
            "steps.1.base.parameters.x.0",
            "there is no step 'q'; the steps are a, b",
        ),
        (
            [prepare(), step("b", program("cat {steps.prepare.outputs.dta}"))],
            "steps.1.base.command",
            "{steps.prepare.outputs.dta}: step prepare has no output 'dta', its outputs are data, shards; "
            "did you mean 'data'?",
        ),
        (
            [step("a"), step("b", program("cat {steps.a.outputs.data}"))],
            "steps.1.base.command",
            "{steps.a.outputs.data}: step a has no output 'data', it has no outputs",
        ),
        (
            [step("a"), step("b", program("cat {steps.a.outputs}"))],
            "steps.1.base.command",
            "{steps.a.outputs} lacks the name after outputs",
        ),
        (
            [step("a"), step("b", when="steps.a.best.loss")],
            "steps.1.when",
            "'steps.a.best.loss' is no condition: expected a comparison as steps.probe.best.loss < 2, or several "
            "joined by `and`",
        ),
        (
            [step("a"), step("b", when="steps.a.folder < 2")],
            "steps.1.when",
            "{steps.a.folder} is the path of a run folder, and a condition compares single numbers",
        ),
        (
            [step("a"), step("b", when="steps.a.all.loss < 2")],
            "steps.1.when",
            "{steps.a.all.loss} is a list with a number of every run, and a condition compares single numbers",
        ),
        (
            [
                step("a", axes={"parameters.x": [1, 2]}, base=program(parameters={"x": 0})),
                step("b", program("{steps.a.folder}")),
            ],
            "steps.1.base.command",
            "{steps.a.folder} is one value, and step a has 2 runs: write best, last or all after the name",
        ),
        (
            [
                step("a", axes={"parameters.x": [1, 2]}, base=program(parameters={"x": 0})),
                step("b", program("{steps.a.best.folder}")),
            ],
            "steps.1.base.command",
            "{steps.a.best.folder}: step a does not say by which metric its best run is chosen: set its objective",
        ),
        (
            [step("a", engine()), step("b", program("{steps.a.checkpoint}"))],
            "steps.1.base.command",
            "{steps.a.checkpoint}: the runs of step a save no checkpoint after their last step: set checkpoint.at_end",
        ),
        (
            [step("a", engine()), step("b", program("{steps.a.spec.no_field}"))],
            "steps.1.base.command",
            "{steps.a.spec.no_field}: the runs of step a set no field 'no_field'",
        ),
        (
            [step("a"), step("b", program(), over={"parameters.x": "{steps.a.best.loss}"})],
            "steps.1.over.parameters.x",
            "{steps.a.best.loss} is a number, and `over` needs a list: an output, or all values",
        ),
        (
            [step("a"), step("b", program(), over={"parameters.x": "7"})],
            "steps.1.over.parameters.x",
            "expected one reference to a list, and nothing beside it",
        ),
        (
            [prepare(), step("b", axes={"parameters.x": [1]}, over={"parameters.x": "{steps.prepare.outputs.shards}"})],
            "steps.1.over.parameters.x",
            "the grid sets 'parameters.x' already",
        ),
        (
            [
                step("a"),
                step(
                    "b",
                    engine(
                        data={"kind": "pairs", "path": "{steps.a.best.loss}", "train_samples": 64, "heldout_samples": 8}
                    ),
                ),
            ],
            "steps.1.base.data.path",
            "{steps.a.best.loss} is a number, which does not fit this field: input should be a valid string",
        ),
        (
            [prepare(), step("b", engine(epochs="{steps.prepare.outputs.data}"))],
            "steps.1.base.epochs",
            "{steps.prepare.outputs.data} is the path of a file, which does not fit this field: input should be a "
            "valid integer",
        ),
        (
            [step("a"), step("b", engine(epochs="{steps.a.all.epochs}"))],
            "steps.1.base.epochs",
            "{steps.a.all.epochs} is a list with a number of every run, which does not fit this field: input should be "
            "a valid integer",
        ),
        (
            [step("a"), step("b", program("echo {lr}", parameters={"x": "{steps.a.folder}"}))],
            "steps.1.base.command",
            "{lr} is no parameter; the parameters are x, parameters_json, parameters_yaml, run_folder, "
            "checkpoint_folder, job_python; write {{lr}} for the text itself",
        ),
        (
            [step("a"), step("b", engine(epochs="{steps.a.best.epochs}", batsch=1))],
            "steps.1.base.batsch",
            "unknown field",
        ),
        (
            [step("a"), step("b", engine(epochs="{steps.a.best.epochs}"), axes={"batsch": [1]})],
            "steps.1.axes.batsch",
            "unknown field; did you mean 'batch'?",
        ),
        ([step("a", engine(batch=7))], "steps.0.base.batch", "batch 7 does not divide over 2 ranks"),
        (
            [
                step("a", engine(), axes={"seed": list(range(6000))}),
                step("b", engine(), axes={"seed": list(range(6000))}),
            ],
            "steps",
            "the steps have 6,000 + 6,000 = 12,000 runs, more than the limit of 10,000",
        ),
    ],
)
def test_a_wrong_workflow_is_refused_with_the_place_and_the_reason(
    steps: list[dict[str, Any]], place: str, message: str
) -> None:
    found = issues(*steps)
    assert found.get(place, found) == message


def test_a_number_that_is_known_later_is_accepted_where_a_number_fits() -> None:
    made = workflow(
        step("tune", engine(), axes={"schedule.rate": [0.1, 0.2], "batch": [64, 128]}),
        step(
            "train",
            engine(
                schedule={"kind": "constant", "rate": "{steps.tune.best.spec.schedule.rate}"},
                batch="{steps.tune.best.spec.batch}",
            ),
            axes={"seed": [0, 1]},
        ),
        step("fine", engine(initial_weights={"run": "{steps.train.best.run}"})),
    )
    assert [step.size for step in made.spec.steps] == [4, 2, 1]
    assert [step.is_known for step in made.spec.steps] == [True, False, False]
