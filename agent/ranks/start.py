"""Start: the processes of an agent's ranks with their environment, or the launcher that starts them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from agent.folder.run_folder import RunFolder
from agent.program import command
from agent.program.inner_jobs import bin_folder
from agent.program.parameters import JSON_FILE, parameter_variables
from agent.program.setup_script import render_setup
from agent.program.work_folder import working_folder_of
from agent.ranks.output_pump import OutputPump
from agent.ranks.placement import Placement, Rank
from agent.ranks.rank_process import RankProcess
from runfiles.own_address import LOOPBACK
from runfiles.rendezvous import Point

OF_THE_AGENT = ("BIGBATCH_JOB", "BIGBATCH_MEMBER")  # variables by which the service finds the job's first process
SCRIPT = "BIGBATCH_SETUP_SCRIPT"
LONG_SCRIPT = 100_000  # bytes; Linux admits 128 KiB in one variable
MARKER = "BIGBATCH_RANKS_OF"


class Start:
    """Starts the ranks of one agent."""

    def __init__(
        self,
        folder: RunFolder,
        attempt: int,
        spec: Mapping[str, Any],
        placement: Placement,
        point: Point,
        pump: OutputPump | None,
    ) -> None:
        """`pump` takes the output of the ranks; a launcher has none of its own."""
        self._folder, self._attempt, self._spec = folder, attempt, spec
        self._placement, self._point, self._pump = placement, point, pump
        self._working_folder = working_folder_of(spec, folder.path)

    def ranks(self) -> list[RankProcess]:
        """Start one process for each rank of this agent; raise OSError."""
        return [self._rank(rank) for rank in self._placement.ranks]

    def launcher(self) -> list[RankProcess]:
        """Start torchrun or mpirun; raise OSError."""
        place, path = self._placement, self._folder.path
        if place.launcher == "torchrun":
            words = command.torchrun_words(place, self._point, path, self._attempt)
            words = command.contain(words, self._spec, path, working_folder=self._working_folder)
        else:
            words = command.mpirun_words(place, path, self._attempt)
        first = place.node * place.local_world
        # the workers of mpirun enter the container themselves
        is_contained = place.launcher == "torchrun"
        started = self._start(first, words, self._common(), pump=None, is_contained=is_contained)
        started.is_launcher = True
        return [started]

    def worker(self, rank: int, local_rank: int, world: int) -> RankProcess:
        """Start the program of a rank that mpirun has started."""
        variables = {}
        if has_rank_variables(self._spec):
            variables = {"RANK": str(rank), "LOCAL_RANK": str(local_rank), "WORLD_SIZE": str(world)}
            variables.update(MASTER_ADDR=self._point.host, MASTER_PORT=str(self._point.port))
        words = command.program_words(self._spec, self._folder.path)
        words = command.contain(words, self._spec, self._folder.path, working_folder=self._working_folder)
        return self._start(rank, words, {**self._common(), **variables}, pump=self._pump)

    def _rank(self, rank: Rank) -> RankProcess:
        place = self._placement
        variables = self._rank_variables(rank) if has_rank_variables(self._spec) else {}
        per_rank = self._spec.get("resources", {}).get("gpus_per_rank")
        if per_rank and place.is_local:
            # as on Slurm, a rank sees the GPUs of all ranks of its node, and takes its own by LOCAL_RANK
            variables["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(per_rank * place.local_world)))
        words = command.program_words(self._spec, self._folder.path)
        words = command.contain(words, self._spec, self._folder.path, working_folder=self._working_folder)
        return self._start(rank.rank, words, {**self._common(), **variables}, pump=self._pump)

    def _rank_variables(self, rank: Rank) -> dict[str, str]:
        place = self._placement
        numbers = {
            "RANK": rank.rank,
            "WORLD_SIZE": place.world,
            "LOCAL_RANK": rank.local_rank,
            "LOCAL_WORLD_SIZE": place.local_world,
            "NODE_RANK": place.node,
            "MASTER_PORT": self._point.port,
        }
        return {**{name: str(value) for name, value in numbers.items()}, "MASTER_ADDR": self._point.host}

    def _common(self) -> dict[str, str]:
        """Return the variables that every rank gets, whatever starts it."""
        spec = self._spec
        variables = {
            **((spec.get("environment") or {}).get("variables") or {}),
            **parameter_variables(spec.get("parameters") or {}, spec.get("parameter_prefix")),
            "BIGBATCH_RUN_FOLDER": str(self._folder.path),
            "BIGBATCH_ATTEMPT": str(self._attempt),
            "BIGBATCH_PARAMETERS": str(self._folder.path / JSON_FILE),
        }
        if spec.get("time_split", True):
            variables["BIGBATCH_TIME_SPLIT"] = "1"
        return variables

    def _start(
        self,
        rank: int,
        words: list[str],
        variables: Mapping[str, str],
        *,
        pump: OutputPump | None,
        is_contained: bool = True,
    ) -> RankProcess:
        environment = {name: value for name, value in os.environ.items() if name not in OF_THE_AGENT}
        environment.setdefault("PYTHONUNBUFFERED", "1")
        # otherwise all runs of a user share one database of trackio, and nobody notices that a run logs to it
        environment.setdefault("TRACKIO_DIR", str(self._folder.path / "trackio"))
        if self._point.host == LOOPBACK:
            # otherwise gloo and NCCL would listen where other hosts reach them, and gloo fails where the host's name
            # leads to no address of its own, as on a laptop
            interface = "lo" if os.path.exists("/sys/class/net/lo") else "lo0"
            for library in ("GLOO", "NCCL"):
                environment.setdefault(f"{library}_SOCKET_IFNAME", interface)
        name, _, value = marker_of(self._folder, self._attempt).partition("=")
        environment[name] = value
        tools = command.AGENT.parent / "python"
        settings = dict(self._spec.get("environment") or {})
        if not is_contained:
            settings["container"] = None
        script = render_setup(
            settings,
            working_folder=self._working_folder,
            variables=variables,
            python_path=str(tools) if tools.is_dir() else None,
            path=bin_folder(self._folder),
            recorder=self._recorder(settings.get("container")) if rank == 0 and is_contained else (),
        )
        bash = self._bash(rank, script, environment)
        return RankProcess(rank, [*bash, *words], environment, str(self._folder.path), pump=pump)

    def _recorder(self, container: object) -> list[str]:
        """Return the words that record the environment of the program; in a container its own Python runs them."""
        python = "python3" if container else sys.executable
        file = command.AGENT / "environment_record.py"
        words = [python, "-I", "-S", str(file), str(self._folder.path), str(self._attempt)]
        return command.contain(words, self._spec, self._folder.path, working_folder=self._working_folder)

    def _bash(self, rank: int, script: str, environment: dict[str, str]) -> list[str]:
        """Return the words that start bash with the script, which the environment gets: every user reads arguments."""
        script = f"unset {SCRIPT}\n{script}"
        if len(script.encode()) < LONG_SCRIPT:
            environment[SCRIPT] = script
            return ["bash", "-c", f'eval "${SCRIPT}"', "bigbatch"]
        name = f"{self._attempt}.setup-{rank}.sh"
        self._folder.write(name, script, mode=0o600)
        return ["bash", str(self._folder.attempts / name)]


def has_rank_variables(spec: Mapping[str, Any]) -> bool:
    """Return whether RANK, MASTER_ADDR and so on are set; by default not for one process that starts as by hand."""
    asked = spec.get("rank_variables")
    return bool(asked) if asked is not None else spec.get("launcher") != "plain"


def marker_of(folder: RunFolder, attempt: int) -> str:
    """Return the environment entry by which all processes of an attempt on this machine are found."""
    return f"{MARKER}={folder.path}:{attempt}"
