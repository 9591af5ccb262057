"""Accepted mutated specs take their first step and evaluate: POST refuses what is known to fail there."""

import os
import traceback
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from pydantic import ValidationError

from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from tests.testing.mutated_specs import is_tiny, mutated_specs
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.progress.reporter import Reporter
from trainers.ranks import rank_info
from trainers.training import engine
from trainers.training.diverged import Diverged
from trainers.training.evaluation_diagnosis import OutputNotFinite
from trainers.training.precision import Overflow

MOST = int(os.environ.get("MUTATED_SPECS", "60"))  # accepted specs per seed and world
CANDIDATES = 100  # mutated specs for each that is run: most are refused or not tiny


class One:
    """Pauses a run after one step, without saving it."""

    def before_step(self) -> None: ...

    def after_step(self) -> bool:
        return True


def first_steps(path: str, specs: list[str]) -> list[str]:
    """Take the first step of each run and evaluate; return the traceback of the last one if it fails, else nothing.

    A loss that is not finite is no failure: it depends on the numbers, and no formula predicts it.
    """
    world = dist.get_world_size()
    for number, spec in enumerate(specs):
        run = RunSpec.model_validate_json(spec)
        folder = RunFolder(Path(path) / f"{world}-{number}")
        folder.path.mkdir(parents=True, exist_ok=True)
        here = rank_info.local_rank_info(dist.get_rank(), world)
        try:
            loop = engine.make_loop(run, here, device=torch.device("cpu"), report=Reporter(folder, 1, rank=here.rank))
            loop.coordinator = One()
            loop.train()
            if loop.state.rule.is_synchronous:
                loop.evaluation(loop.state.model)
        except (Diverged, OutputNotFinite, Overflow):
            continue
        except Exception:
            return [f"{spec}\n{traceback.format_exc()}"]
    return []


def accepted(seed: int, world: int, most: int) -> list[str]:
    """Return up to `most` accepted tiny runs on `world` ranks as JSON."""
    found: list[str] = []
    for document in mutated_specs(seed, CANDIDATES * most):
        try:
            run = RunSpec.model_validate(document)
        except ValidationError:
            continue
        if run.resources.world == world and is_tiny(run) and not list(run.new_run_issues()):
            found.append(run.model_dump_json())
    return found[:most]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_an_accepted_spec_takes_its_first_step_alone(seed: int, tmp_path: Path) -> None:
    specs = accepted(seed, 1, MOST)
    assert len(specs) > MOST // 2
    assert on_ranks(1, first_steps, str(tmp_path), specs) == [[]]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_an_accepted_spec_takes_its_first_step_on_two_ranks(seed: int, tmp_path: Path) -> None:
    specs = accepted(100 + seed, 2, MOST // 3)
    assert len(specs) > MOST // 6
    for number, spec in enumerate(specs):  # one process group each: a rank that fails leaves the others waiting
        assert on_ranks(2, first_steps, str(tmp_path / str(number)), [spec]) == [[], []], spec
