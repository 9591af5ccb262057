"""RankProcess: the run folder, attempt and rank of this process, from its environment and its process group."""

from __future__ import annotations

import os
import sys

RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
WORLD_VARIABLES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
OWNER = "BIGBATCH_TIMED_PROCESS"  # set by the process of a rank that is timed, so that its child processes are not


class RankProcess:
    """One rank's process; `folder` is the run folder."""

    def __init__(self, folder: str, attempt: int) -> None:
        self.folder, self.attempt = folder, attempt
        self.rank, self.world = _number(RANK_VARIABLES, 0), _number(WORLD_VARIABLES, 1)
        self.id = os.getpid()

    @classmethod
    def from_environment(cls) -> RankProcess | None:
        """Return this process's rank; None outside a run, and in a child process of a rank that is timed."""
        folder, attempt = os.environ.get("BIGBATCH_RUN_FOLDER"), os.environ.get("BIGBATCH_ATTEMPT", "")
        owner = os.environ.get(OWNER, "")
        if not folder or not attempt.isdecimal() or owner not in ("", str(os.getpid())):
            return None
        return cls(folder, int(attempt))

    def become_owner(self) -> None:
        """Read the rank from the process group, and let child processes know that this process is timed."""
        os.environ[OWNER] = str(self.id)
        torch = sys.modules.get("torch")
        if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
            self.rank, self.world = torch.distributed.get_rank(), torch.distributed.get_world_size()

    def is_own(self) -> bool:
        """Return whether this process is the rank itself, and not a forked child."""
        return os.getpid() == self.id

    def attempt_file(self, suffix: str) -> str:
        """Return the path of a file of this rank's attempt."""
        return os.path.join(self.folder, "attempts", f"{self.attempt}.{suffix}")


def _number(names: tuple[str, ...], default: int) -> int:
    return next((int(text) for name in names if (text := os.environ.get(name, "")).isdecimal()), default)
