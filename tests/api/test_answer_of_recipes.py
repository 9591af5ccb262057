"""Every recipe answers its own description: which picture of which figure its experiment opens with, in which words."""

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.spec.expanded import read_experiment
from contract.yaml_reader import read_document
from store.session import transaction
from tests.testing.seed_answers import carry_out, create

RECIPES = Path(__file__).parents[2] / "recipes"
# a search or a workflow gets its runs later, and opens with its trials or its steps
WITH_LATER_RUNS = re.compile(r"^(steps|search):", re.MULTILINE)
FILES = sorted(
    path
    for path in [*RECIPES.glob("*.yaml"), *RECIPES.glob("programs/*.yaml")]
    if not WITH_LATER_RUNS.search(path.read_text())
)
ONE_RUN = (
    "single",
    "best(heldout_accuracy)",
    r"^The best held-out accuracy of run 1 is \d+\.\d\d %, reached after .+ of training",
)
OWN_LOSS = ("single", "loss", r"^The last training loss of run 1 is \d\.\d+\.$")

EXPECTED = {
    # does everything work: nearly all digits right within seconds
    "first-run": (
        "single",
        "best(heldout_accuracy)",
        r"is 98\.40 %, reached after [\d.]+ s of training; a step takes [\d.]+ ms\.",
    ),
    # what a step's communication takes with each all-reduce, at equal accuracy
    "torus-against-ring": (
        *("bars", "step_s"),
        r"^A step takes from [\d.]+ ms with torus to [\d.]+ ms with ring; "
        r"communication takes [\d.]+ ms to [\d.]+ ms of it; all reach the same accuracy, 98\.40 %\.$",
    ),
    "collectives": (
        "bars",
        "step_s",
        r"with torus to [\d.]+ ms with server servers 1; communication takes .*same accuracy",
    ),
    "easgd": (
        "bars",
        "step_s",
        r"^A step takes from .* with hogwild to .* with original; communication takes",
    ),
    # which optimizer learns the digits at its usual rate
    "optimizers": (
        *("bars", "best(heldout_accuracy)"),
        r"^The best held-out accuracy is highest with lars, 98\.\d\d % ± 0\.\d\d.*"
        r"and lowest with torch\.optim:RMSprop, .*; means over seed\.$",
    ),
    # what it takes to share a net among ranks, at equal losses
    "tensor-parallelism": ("bars", "step_s", r"^A step takes from "),
    # what K-FAC learns in as many steps as SGD
    "kfac": (
        *("bars", "best(heldout_accuracy)"),
        r"highest with kfac, .*, and lowest with none, .*; means over seed\.$",
    ),
    # how far one rate carries when the batch grows
    "linear-scaling": (
        *("lines", "best(heldout_accuracy)"),
        r"^The best held-out accuracy is highest at batch (64|128): .*; .*95\.\d\d % at batch 1024; means over seed\.$",
    ),
    # which rate each batch needs
    "rate-against-batch": (
        *("heat_map", "best(heldout_accuracy)"),
        r"^The rate with the best held-out accuracy is 2 at batch 64 \(.*\), 7 at batch 256 \(.*\), 20 at batch 512",
    ),
    # does a rate that grows with the batch keep the accuracy
    "glyphs": (
        "heat_map",
        "best(heldout_accuracy)",
        r"is 0\.1 at batch 128 \(.*\), 0\.4 at batch 512 \(.*\), 0\.4 at batch 2048",
    ),
    # the time to equal accuracy
    "knl": ("lines", "seconds_to_target", r"^The time to 97\.50 % is lowest at parts 4: .*; .* at parts 1\.$"),
    # what a step takes when each node keeps its batch
    "knl-weak-scaling": ("lines", "step_s", r"^The time of a step is lowest at batch \d+: "),
    "knl-weak-scaling-vgg": ("lines", "step_s", r"^The time of a step is lowest at batch \d+: "),
    "knl-16": ("lines", "seconds_to_target", r"is lowest at parts 16: .*; .* at parts 1\.$"),
    "programs/ddp": (
        "lines",
        "best(accuracy)",
        r"^The best accuracy is highest at lr 0\.1: \d+\.\d\d %; .* at lr 0\.05\.$",
    ),
    "programs/least-squares": (
        "lines",
        "loss",
        r"^The last training loss is lowest at rate 0\.5: .*; .* at rate 0\.1\.$",
    ),
    "programs/pi": ("single", "error", r"^The last error of run 1 is 1e-40\.$"),
    "programs/trainer": ("single", "train/loss", r"^The last train/loss of run 1 is 2\.1"),
    **dict.fromkeys(["programs/ddp-with-bigbatch", "programs/fsdp", "programs/with-lightning"], OWN_LOSS),
}


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(RECIPES).with_suffix("").as_posix())
def test_a_recipe_opens_with_the_answer_to_its_question(path: Path, client: TestClient, sqlite_engine: Engine) -> None:
    picture, figure, sentence = EXPECTED.get(path.relative_to(RECIPES).with_suffix("").as_posix(), ONE_RUN)
    with transaction(sqlite_engine) as db:
        experiment, created = create(db, read_experiment(read_document(path.read_text())))
        for run in created:
            carry_out(db, run)
    answer: dict[str, Any] = client.get(f"/api/v1/experiments/{experiment}/answer").json()
    assert (answer["picture"], answer["figure"]["name"]) == (picture, figure)
    assert re.search(sentence, answer["sentence"]), answer["sentence"]
    assert sum(len(group["runs"]) for group in answer["groups"]) == len(created)
    assert all(group["figure"]["count"] == len(group["runs"]) for group in answer["groups"])
    labels = [group["label"] for group in answer["groups"]]
    assert len({(g["label"], g["x"], g["y"]) for g in answer["groups"]}) == len(labels)


def test_every_picture_is_that_of_a_recipe() -> None:
    names = {path.relative_to(RECIPES).with_suffix("").as_posix() for path in FILES}
    assert set(EXPECTED) <= names
    assert {one[0] for one in EXPECTED.values()} == {"single", "lines", "heat_map", "bars"}
