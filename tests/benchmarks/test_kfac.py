"""The recipe of K-FAC has the best rates that the benchmark knows, with the benchmark's problem."""

import json
from pathlib import Path

import yaml

from benchmarks.kfac.problems import METHODS, PROBLEMS

ROOT = Path(__file__).parents[2]
PROBLEM = "glyphs, 64 steps"


def test_no_rate_of_the_benchmark_is_known_to_be_better_than_the_recipes() -> None:
    recipe = yaml.safe_load((ROOT / "recipes/kfac.yaml").read_text())
    report = json.loads((ROOT / "benchmarks/results/kfac.json").read_text())
    (measured,) = [row["methods"] for row in report["problems"] if row["problem"] == PROBLEM]
    base, problem = recipe["base"], PROBLEMS[PROBLEM]
    assert problem.base.items() <= base.items()
    assert base["epochs"] == problem.epochs
    for variant in recipe["variants"]:
        name = "kfac" if variant["preconditioner"] else "sgd"
        rate = variant["schedule.rate"]
        tuned = {str(trial["rate"]): trial["accuracy"] for trial in measured[name]["tuning"] if not trial["other"]}
        assert rate in METHODS[name].rates
        assert base["optimizer"] == METHODS[name].optimizer
        # a rate outside of the report's rates was tried on its own: the log has its accuracy
        assert tuned.get(str(rate), 1.0) >= max(tuned.values())
