"""The Python client's example in the guide, carried out as it stands."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bigbatch.client import Client
from bigbatch.polling import Pause
from contract.lifecycle.state import State
from tests.testing import seed_runs
from tests.testing.command import Site

ROOT = Path(__file__).parents[2]


@pytest.mark.ring("all")
def test_the_example_of_the_guide_prints_the_result_of_its_run(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = re.search(r"## The Python client\n+```python\n(.*?)```", (ROOT / "docs/tools.md").read_text(), re.S)
    assert example

    def train_at_once(ask: Callable[[], Any], pause: Pause) -> Any:
        created = next(client.experiments())
        for run in client.runs(created.id):
            latest = {"heldout_accuracy": 0.975}
            seed_runs.move(site, run.id, [*seed_runs.TO_RUNNING, State.DONE], latest=latest, objective_value=0.98)
        return ask()

    monkeypatch.setattr("bigbatch.polling.retry_until_answered", train_at_once)
    monkeypatch.chdir(ROOT)
    exec(compile(example[1], "docs/guide.md", "exec"), {})
    waiting, *_, last = capsys.readouterr().out.splitlines()
    assert "queued" in waiting
    assert last.endswith(" done 0.975 best 0.98")
