"""The layout: the hosts of the lab with their resources, their addresses and the rate of their links."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.instance import HOST_SUFFIX, NUMBER, SUFFIX

NETWORK = f"10.177.{NUMBER}"  # a /24 network
HEAD_ADDRESS = f"{NETWORK}.1"
MAX_HOSTS = 64
MEMORY_MB = 4000
GPUS_PER_HOST = 4
GRACE_S = 30  # Slurm's GraceTime of the partitions that have one: from SIGTERM to the end of a preempted job
GPU_HOST_CPUS, MOST_CPUS = 4, 8


@dataclass(frozen=True)
class Host:
    """One compute node."""

    name: str
    address: str
    cpus: int
    gpus: int
    features: tuple[str, ...]

    @property
    def namespace(self) -> str:
        """Return the name of the host's network namespace; the prefix avoids collisions on the machine."""
        return f"bblab{SUFFIX}-{self.name}"


@dataclass(frozen=True)
class Layout:
    """The settings from which the cluster is derived."""

    gpu_hosts: int = 4
    knl_hosts: int = 2
    rate: str | None = None  # per link and direction, in tc's notation; None does not limit the links
    min_job_age_s: int = 60  # Slurm's MinJobAge
    max_array_size: int = 1001  # Slurm's MaxArraySize: the highest array index plus 1
    max_submit_jobs: int | None = None  # MaxSubmitJobsPerUser of the QOS; None does not limit the jobs of a user
    has_accounting: bool = True  # slurmdbd runs, and sacct has the jobs
    limits_memory: bool = False  # cgroups limit the memory of each step to what its job has asked for

    def __post_init__(self) -> None:
        total = self.gpu_hosts + self.knl_hosts
        if self.gpu_hosts < 0 or self.knl_hosts < 0 or not 1 <= total <= MAX_HOSTS:
            raise ValueError(f"a lab has 1 to {MAX_HOSTS} hosts, not {self.gpu_hosts} gpu + {self.knl_hosts} knl")
        if self.rate is not None and not re.fullmatch(r"[1-9]\d*[kmg]bit", self.rate):
            raise ValueError(f"a rate is a whole number of kbit, mbit or gbit, such as 200mbit, not {self.rate!r}")
        if self.min_job_age_s < 2:
            raise ValueError(f"Slurm requires a MinJobAge of at least 2 s, not {self.min_job_age_s}")
        if not 1 <= self.max_array_size <= 4_000_001:
            raise ValueError(f"Slurm accepts arrays of 1 to 4,000,001 tasks, not {self.max_array_size}")
        if self.max_submit_jobs is not None and self.max_submit_jobs < 1:
            raise ValueError(f"a limit of submitted jobs is at least 1, not {self.max_submit_jobs}")
        if self.max_submit_jobs is not None and not self.has_accounting:
            raise ValueError("Slurm has limits of submitted jobs only with accounting")

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Return all hosts in the order of their addresses."""
        kinds = [("gpu", i + 1) for i in range(self.gpu_hosts)] + [("knl", i + 1) for i in range(self.knl_hosts)]
        return tuple(_host(kind, number, f"{NETWORK}.{11 + i}") for i, (kind, number) in enumerate(kinds))

    def save(self, path: Path) -> None:
        """Write the layout as JSON."""
        path.write_text(json.dumps(asdict(self)) + "\n")


def load(path: Path) -> Layout | None:
    """Read a saved layout; return None if there is no file or a crash left a partial file."""
    try:
        return Layout(**json.loads(path.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _host(kind: str, number: int, address: str) -> Host:
    name = f"{kind}{number}{HOST_SUFFIX}"
    if kind == "gpu":
        return Host(name, address, cpus=GPU_HOST_CPUS, gpus=GPUS_PER_HOST, features=("gpu",))
    memory_mode = "cache" if number % 2 else "flat"
    return Host(name, address, cpus=MOST_CPUS, gpus=0, features=("knl", "quad", memory_mode))
