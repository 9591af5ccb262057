"""Hostile runs by chance beside ten honest ones on a real service: `make fuzz`, or with `--minutes 30 --seed 1`.

Half of the hostile runs are of the engine, half are own programs below the agent. Watched all the time: how long the
service takes to answer, how late the honest runs' points are stored, the memory of every process, what an answer or a
log has of a secret, and whether anything that was planted was executed. At the end every hostile run must have ended
and be deleted with its folder, and the honest runs must have lost nothing.
"""

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import httpx

from lab.fake_slurm.state import Settings
from tests.testing.fake_slurm import carried
from tests.testing.faults import hostile_run, light
from tests.testing.faults.audit import all_is_well
from tests.testing.faults.hostile_plants import PAYLOAD, SECRET, choose
from tests.testing.faults.hostile_watch import Watch
from tests.testing.faults.on_fake_slurm import SPEC, settings
from tests.testing.service import ENDED, Service, running

HONEST, HOSTILE = 10, 12  # runs at once
IN_ONE = 4  # hostile runs of an experiment
EPOCHS = 5_000  # of honest runs: more than any campaign lasts
READERS, THINKS_S = 2, 0.05
ENDS_S, REMOVED_S = 240.0, 240.0  # for the hostile runs to end, and for their folders to go
OF_RUNS = ("", "/log?limit=100000", "/log?offset=-3000", "/points?limit=1000", "/ranks", "/files", "/size", "/stacks")
OF_EXPERIMENTS = ("", "/runs?limit=100", "/failures", "/answer", "/checkpoints")
LISTS = ("/runs?limit=100", "/experiments", "/clusters", "/ready", "/health", "/runs/table?limit=50", "/runs/names")
ANSWERS = (200, 404, 409)
RUN_FOLDER = re.compile(r"[0-9]{6}-[0-9a-f]+")


@dataclass
class Campaign:
    """A service, its honest runs, and the hostile ones so far."""

    service: Service
    watch: Watch
    dice: random.Random
    over: threading.Event = field(default_factory=threading.Event)
    honest: list[int] = field(default_factory=list)
    experiments: dict[int, list[int]] = field(default_factory=dict)  # hostile ones that are not deleted yet
    plants: dict[int, str] = field(default_factory=dict)  # by hostile run
    deleted: int = 0

    def post(self) -> None:
        """Submit one more experiment of hostile runs."""
        seeds = [hostile_run.FIRST + self.dice.randrange(1 << 30) for _ in range(IN_ONE)]
        text = self._programs(seeds) if self.dice.random() < 0.5 else SPEC.format(name="hostile", epochs=1, seeds=seeds)
        answer = self.service.ask(
            "POST", "/experiments", content=text.replace("[[", "[").replace("]]", "]"), headers=YAML
        )
        if answer.status_code != 201:
            self.watch.find(f"POST /experiments: {answer.status_code}", answer.text[:300])
            return
        made = answer.json()
        self.experiments[made["id"]] = made["runs"]
        for run_id, seed in zip(made["runs"], seeds, strict=True):
            self.plants[run_id] = "; ".join(plant.name for plant in choose(seed))

    def _programs(self, seeds: list[int]) -> str:
        base = {
            "kind": "program",
            "command": [sys.executable, "-m", "tests.testing.faults.hostile_run"],
            "launcher": self.dice.choice(["srun", "plain"]),
            "parameters": {"seed": 0},
            "environment": {"variables": {"PYTHONPATH": str(light.HOUSE)}},
            "resources": {"kind": "slurm", "partition": "gpu", "minutes": 4},
        }
        return json.dumps({"name": "hostile programs", "base": base, "axes": {"parameters.seed": seeds}})

    def states(self, experiment_id: int) -> dict[int, str]:
        """Return the states of an experiment's runs, from the list, which needs no folder."""
        return {run["id"]: run["state"] for run in self.service.get(f"/experiments/{experiment_id}/runs")["items"]}

    def open_runs(self) -> list[int]:
        """Return the hostile runs that have not ended."""
        states = [one for experiment_id in self.experiments for one in self.states(experiment_id).items()]
        return [run_id for run_id, state in states if state not in ENDED]

    def delete_ended(self) -> None:
        """Delete the experiments whose runs have ended."""
        for experiment_id in list(self.experiments):
            if {*self.states(experiment_id).values()} <= ENDED:
                confirm = self.service.get(f"/experiments/{experiment_id}/size")["confirm"]
                path = f"/experiments/{experiment_id}?confirm={confirm}"
                self.service.ask("DELETE", path).raise_for_status()
                self.deleted += len(self.experiments.pop(experiment_id))

    def feed(self) -> None:
        """Keep so many hostile runs under way, and delete those that have ended."""
        while not self.over.wait(1.0):
            try:
                self.delete_ended()
                if len(self.open_runs()) <= HOSTILE - IN_ONE:
                    self.post()
            except (httpx.HTTPError, AssertionError) as error:
                self.watch.find("the campaign's own calls", repr(error)[:300])

    def read(self, seed: int) -> None:
        """Read what a user's pages and commands read, one thing after another."""
        dice = random.Random(seed)
        headers = {"authorization": f"Bearer {self.service.token}"}
        with httpx.Client(base_url=self.service.url, headers=headers, timeout=60) as client:
            while not self.over.wait(THINKS_S):
                path = self._some_path(dice)
                began = time.monotonic()
                try:
                    answer = client.get(f"/api/v1{path}")
                except httpx.HTTPError as error:
                    self.watch.find("no answer", f"{path}: {error!r}")
                    continue
                self.watch.note_answer(path, time.monotonic() - began, len(answer.content))
                if answer.status_code not in ANSWERS:
                    self.watch.find(
                        f"an answer {answer.status_code}", f"{path}: {answer.text[:300]} ({self._plants_of(path)})"
                    )
                self.watch.look_for_secrets(path, answer.text)

    def _some_path(self, dice: random.Random) -> str:
        kind, experiments = dice.random(), list(self.experiments.items())
        if kind < 0.2 or not experiments:
            return dice.choice(LISTS)
        experiment_id, run_ids = dice.choice(experiments)
        if kind < 0.3:
            return f"/experiments/{experiment_id}{dice.choice(OF_EXPERIMENTS)}"
        return f"/runs/{dice.choice(run_ids if kind < 0.8 else self.honest)}{dice.choice(OF_RUNS)}"

    def _plants_of(self, path: str) -> str:
        number = path.split("/")[2].partition("?")[0] if path.startswith("/runs/") else ""
        return self.plants.get(int(number), "honest") if number.isdecimal() else ""


YAML = {"content-type": "application/yaml"}


@contextmanager
def campaign(folder: Path, seed: int) -> Iterator[Campaign]:
    """Yield a campaign whose honest runs train."""
    secret, payload, text = folder / "secret", folder / "executed", token_hex(16)
    secret.write_text(text)
    secret.chmod(0o600)
    own = settings(folder) | {
        "BIGBATCH_SLURM_PYTHON": str(hostile_run.program(folder)),
        "BIGBATCH_DELETE_HOURS": "0",
        light.STEP_S: "0.5",
    }
    os.environ |= {SECRET: str(secret), PAYLOAD: str(payload)}  # the fake Slurm passes them on to its jobs
    with carried(folder / "slurm", Settings(hosts=8)), running(folder / "home", own) as service:
        watch = Watch(service, secrets=(text, "root:", service.token), payload=payload)
        on = Campaign(service, watch, random.Random(seed))
        on.honest = service.post(SPEC.format(name="honest", epochs=EPOCHS, seeds=", ".join(map(str, range(HONEST)))))
        for run_id in on.honest:
            service.wait_until(run_id, step=1)
        yield on


def carry_out(on: Campaign, seconds: float) -> None:
    """Attack for so long, then let everything come to its end."""
    parts = [threading.Thread(target=on.feed)]
    parts += [threading.Thread(target=on.read, args=(number,)) for number in range(READERS)]
    folders = {run_id: Path(on.service.get(f"/runs/{run_id}")["folder"]) for run_id in on.honest}
    watching = threading.Thread(target=on.watch.run, args=(on.over, folders))
    for thread in (*parts, watching):
        thread.start()
    on.over.wait(seconds)
    on.over.set()
    for thread in (*parts, watching):
        thread.join()
    _end_hostile_runs(on)
    _wait_for_removal(on)
    for run_id in on.honest:
        (folders[run_id] / light.HURRY).touch()
    for run_id in on.honest:
        on.service.wait_for_end(run_id)
    try:
        all_is_well(on.service, on.honest, lambda: [])
    except AssertionError as error:
        on.watch.find("an honest run", str(error)[:2_000])
    on.watch.look_at_logs()


def _end_hostile_runs(on: Campaign) -> None:
    until = time.monotonic() + ENDS_S
    while open_runs := on.open_runs():
        if time.monotonic() > until:
            for run_id in open_runs:
                on.watch.find("a run that does not end", f"run {run_id}: {on.plants[run_id]}")
            return
        for run_id in open_runs:
            on.service.ask("POST", f"/runs/{run_id}/stop")
        time.sleep(2.0)


def _wait_for_removal(on: Campaign) -> None:
    on.delete_ended()
    runs, until = Path(on.service.environment["BIGBATCH_HOME"]) / "runs", time.monotonic() + REMOVED_S
    keep = {Path(on.service.get(f"/runs/{run_id}")["folder"]).name for run_id in on.honest}
    kept_runs = {run_id for ids in on.experiments.values() for run_id in ids}  # did not end: said already
    while time.monotonic() < until:
        # a run may move its folder away: what it makes beside it belongs to no run, and the service leaves it alone
        named = [path for path in runs.iterdir() if RUN_FOLDER.fullmatch(path.name) and path.name not in keep]
        left = [path for path in named if int(path.name[:6]) not in kept_runs]
        if not left:
            return
        time.sleep(2.0)
    for path in left:
        on.watch.find("a folder that is not removed", f"{path.name}: {on.plants.get(int(path.name[:6]), 'honest')}")


def main() -> None:
    """Carry out one campaign and print what was seen; exit with 1 if there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m tests.testing.faults.hostile_campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if os.geteuid() == 0 and not os.environ.get(BOUNDED):
        _become_as_others()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(_folder()))
        on = stack.enter_context(campaign(folder, asked.seed))
        carry_out(on, 60 * asked.minutes)
        print(on.watch.report(), f"{on.deleted} hostile runs were deleted", sep="\n", flush=True)
    sys.exit(bool(on.watch.findings))


BOUNDED = "HOSTILE_CAMPAIGN_BOUNDED"


def _become_as_others() -> None:
    """Start again without root's right to read every file: most services do not run as root."""
    command = ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]
    words = [sys.executable, "-m", "tests.testing.faults.hostile_campaign", *sys.argv[1:]]
    if shutil.which(command[0]):
        os.execvpe(command[0], [*command, *words], {**os.environ, BOUNDED: "1"})


@contextmanager
def _folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="hostile-", ignore_cleanup_errors=True) as folder:
        yield folder


if __name__ == "__main__":
    main()
