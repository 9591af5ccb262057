"""The layout: which hosts the lab has, what each offers, where it is reached and how fast its link is."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.instance import HOST_SUFFIX, NUMBER, SUFFIX

NETWORK = f"10.177.{NUMBER}"  # a /24 of the lab's own
HEAD_ADDRESS = f"{NETWORK}.1"
MOST_HOSTS = 64
MEMORY_MB = 4000
GPUS_PER_HOST = 4


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
        """The network namespace that plays the host, prefixed so that it cannot meet anyone else's."""
        return f"bblab{SUFFIX}-{self.name}"


@dataclass(frozen=True)
class Layout:
    """A cluster in four numbers; everything else follows."""

    gpu_hosts: int = 4
    knl_hosts: int = 2
    rate: str | None = None  # tc's words, per link and direction; None leaves the links unshaped
    min_job_age_s: int = 60  # for how long slurmctld remembers a finished job
    max_array_size: int = 1001  # one more than the highest index in a job array

    def __post_init__(self) -> None:
        total = self.gpu_hosts + self.knl_hosts
        if self.gpu_hosts < 0 or self.knl_hosts < 0 or not 1 <= total <= MOST_HOSTS:
            raise ValueError(f"a lab has 1 to {MOST_HOSTS} hosts, not {self.gpu_hosts} gpu + {self.knl_hosts} knl")
        if self.rate is not None and not re.fullmatch(r"[1-9]\d*[kmg]bit", self.rate):
            raise ValueError(f"a rate is a whole number of kbit, mbit or gbit, such as 200mbit, not {self.rate!r}")
        if self.min_job_age_s < 2:
            raise ValueError(f"Slurm keeps finished jobs for at least 2 s, not {self.min_job_age_s}")

        if not 1 <= self.max_array_size <= 4_000_001:
            raise ValueError(f"Slurm takes arrays of 1 to 4,000,001 tasks, not {self.max_array_size}")

    @property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts, in the order of their addresses."""
        kinds = [("gpu", i + 1) for i in range(self.gpu_hosts)] + [("knl", i + 1) for i in range(self.knl_hosts)]
        return tuple(_host(kind, number, f"{NETWORK}.{11 + i}") for i, (kind, number) in enumerate(kinds))

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)) + "\n")


def load(path: Path) -> Layout | None:
    """Read a saved layout; None where there is none, or where a crash left half of one."""
    try:
        return Layout(**json.loads(path.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _host(kind: str, number: int, address: str) -> Host:
    name = f"{kind}{number}{HOST_SUFFIX}"
    if kind == "gpu":
        return Host(name, address, cpus=4, gpus=GPUS_PER_HOST, features=("gpu",))
    memory_mode = "cache" if number % 2 else "flat"
    return Host(name, address, cpus=8, gpus=0, features=("knl", "quad", memory_mode))
