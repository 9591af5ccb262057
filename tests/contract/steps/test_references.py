"""References between steps: read, filled in, and never taken for a placeholder of the command."""

import shlex

import pytest

from agent.program.placeholders import fill as fill_by_agent
from contract.spec.steps.condition import failed_comparison, parse_condition
from contract.spec.steps.fill import fill, fill_run
from contract.spec.steps.reference import (
    Reference,
    ReferenceIssue,
    Selection,
    Wanted,
    find_references,
    parse_reference,
)

pytestmark = pytest.mark.ring("quick")

TRAIN = "train"


@pytest.mark.parametrize(
    ("inside", "reference"),
    [
        ("train.outputs.model", Reference(TRAIN, Selection.ONLY, Wanted.OUTPUT, "model")),
        ("train.all.outputs.model", Reference(TRAIN, Selection.ALL, Wanted.OUTPUT, "model")),
        ("train.best.heldout_accuracy", Reference(TRAIN, Selection.BEST, Wanted.METRIC, "heldout_accuracy")),
        ("train.last.time/step", Reference(TRAIN, Selection.LAST, Wanted.METRIC, "time/step")),
        ("train.best.checkpoint", Reference(TRAIN, Selection.BEST, Wanted.CHECKPOINT)),
        ("train.run", Reference(TRAIN, Selection.ONLY, Wanted.RUN)),
        ("train.best.spec.schedule.rate", Reference(TRAIN, Selection.BEST, Wanted.SPEC, "schedule.rate")),
        ("train.best.parameters.lr", Reference(TRAIN, Selection.BEST, Wanted.SPEC, "parameters.lr")),
    ],
)
def test_a_reference_says_step_runs_and_what_is_wanted(inside: str, reference: Reference) -> None:
    assert parse_reference(inside) == reference
    again = reference.text.removeprefix("{steps.").removesuffix("}")
    assert parse_reference(again) == reference


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("train", "expected {steps.NAME.outputs.OUTPUT}"),
        ("2nd.best.loss", "is no reference"),
        ("train.loss", "with best, last or all before a metric"),
        ("train.best.", "is no reference"),
        ("train.outputs", "lacks the name after outputs"),
        ("train.best.spec", "lacks the name after spec"),
        ("train.best." + "x" * 300, "at most 300 characters"),
    ],
)
def test_another_text_is_refused_with_the_reason(inside: str, message: str) -> None:
    with pytest.raises(ReferenceIssue, match=message.replace("{", r"\{").replace("}", r"\}")):
        parse_reference(inside)


def test_references_are_found_at_their_places() -> None:
    found = list(find_references({"a": ["{steps.x.run}", {"b": "to {steps.y.folder}/z"}], "c": "{{steps.x.run}}"}))
    assert [(one.path, one.inside, one.is_whole) for one in found] == [
        ("a.0", "x.run", True),
        ("a.1.b", "y.folder", False),
    ]


def test_a_whole_value_keeps_its_type_and_a_text_gets_the_value_as_text() -> None:
    values = {"x.best.loss": 0.25, "x.run": 7, "x.all.run": [7, 8]}

    def value_of(reference: Reference) -> object:
        return values[reference.text.removeprefix("{steps.").removesuffix("}")]

    document = {"a": "{steps.x.best.loss}", "b": "run {steps.x.run}", "c": ["{steps.x.all.run}"], "d": 3}
    assert fill(document, value_of) == {"a": 0.25, "b": "run 7", "c": [[7, 8]], "d": 3}
    with pytest.raises(ReferenceIssue, match="is a list, and a text has room for one value"):
        fill("runs {steps.x.all.run}", value_of)


PATHS = ["/runs/a b", "/runs/{lr}", "/runs/{{lr}}", "/runs/$(reboot)", "/runs/'x'", '/runs/"x"']


@pytest.mark.parametrize("path", PATHS)
def test_a_path_in_a_command_line_is_one_word_for_bash_and_no_placeholder(path: str) -> None:
    run = fill_run({"kind": "program", "command": "cat {steps.x.folder} --lr {lr}"}, lambda _: path)
    line = fill_by_agent(run["command"], {"lr": 0.1}, is_shell=True)
    assert shlex.split(line) == ["cat", path, "--lr", "0.1"]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_in_a_list_of_words_is_itself(path: str) -> None:
    run = fill_run({"command": ["cat", "{steps.x.folder}", "--of={steps.x.folder}", "{lr}"]}, lambda _: path)
    words = [fill_by_agent(word, {"lr": 0.1}, is_shell=False) for word in run["command"]]
    assert words == ["cat", path, f"--of={path}", "0.1"]


def test_a_list_is_several_words_of_a_command() -> None:
    line = fill_run({"command": "cat {steps.x.all.folder}"}, lambda _: ["/a b", "/c"])["command"]
    assert shlex.split(line) == ["cat", "/a b", "/c"]
    words = fill_run({"command": ["cat", "{steps.x.all.folder}"]}, lambda _: ["/a b", "/c"])["command"]
    assert words == ["cat", "/a b", "/c"]


@pytest.mark.parametrize(
    ("text", "loss", "failed"),
    [
        ("steps.x.best.loss < 2", 1.5, None),
        ("steps.x.best.loss < 2", 2.0, "steps.x.best.loss = 2 < 2 does not hold"),
        ("{steps.x.best.loss} <= 2 and steps.x.best.loss > 1e-3", 2.0, None),
        ("0.5 >= steps.x.best.loss", 0.75, "0.5 >= steps.x.best.loss = 0.75 does not hold"),
        ("steps.x.best.loss == 2 and steps.x.best.loss != 2", 2.0, "steps.x.best.loss = 2 != 2 does not hold"),
    ],
)
def test_a_condition_compares_figures(text: str, loss: float, failed: str | None) -> None:
    assert failed_comparison(parse_condition(text), lambda _: loss) == failed


@pytest.mark.parametrize(
    "text", ["", "steps.x.best.loss", "1 < 2", "loss < 2", "steps.x.best.loss < 'a'", "steps.x.loss < 2"]
)
def test_another_text_is_no_condition(text: str) -> None:
    with pytest.raises(ReferenceIssue):
        parse_condition(text)
