"""OpenMPI's all-reduce on the lab's hosts, as the alternative of a user without Bigbatch.

VARIANTS are all algorithms that OpenMPI 4 has for it: the six of its component `tuned`, of which the segmented ring
takes a segment size, and its hierarchical component `han` with segment sizes and both modules between the hosts.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.launcher import LAB, on_host

SOURCE = Path(__file__).with_name("openmpi_allreduce.c")
TIMEOUT_S = 180  # of one call of mpirun


def _tuned(algorithm: int, segment_bytes: int = 0) -> list[str]:
    options = ["coll_tuned_use_dynamic_rules", "1", "coll_tuned_allreduce_algorithm", str(algorithm)]
    return [*options, "coll_tuned_allreduce_algorithm_segmentsize", str(segment_bytes)]


def _han(segment_bytes: int, module: int) -> list[str]:
    options = ["coll_han_priority", "100", "coll_han_allreduce_segsize", str(segment_bytes)]
    return [*options, "coll_han_allreduce_up_module", str(module)]


VARIANTS: dict[str, list[str]] = {  # name -> pairs of a parameter of OpenMPI and its value
    "openmpi": [],
    "openmpi-linear": _tuned(1),
    "openmpi-reduce+bcast": _tuned(2),
    "openmpi-doubling": _tuned(3),
    "openmpi-ring": _tuned(4),
    **{f"openmpi-ring-{kib}KiB": _tuned(5, kib << 10) for kib in (64, 512, 2048)},
    "openmpi-halving": _tuned(6),
    **{f"openmpi-han-{kib}KiB": _han(kib << 10, 0) for kib in (64, 512, 2048)},
    **{f"openmpi-han-adapt-{kib}KiB": _han(kib << 10, 1) for kib in (64, 512)},
}
ALGORITHMS = ("openmpi", "openmpi-ring")  # of the benchmark of all algorithms


def missing() -> str:
    """Return a sentence about missing programs and their packages, or an empty string."""
    if shutil.which("mpirun") and shutil.which("mpicc"):
        return ""
    return "mpirun or mpicc is missing; OpenMPI is not measured: apt-get install openmpi-bin libopenmpi-dev"


@contextmanager
def program() -> Iterator[Path]:
    """Compile the program into a folder of its own, with the agent that mpirun calls in place of ssh."""
    with tempfile.TemporaryDirectory() as folder:
        compiled, agent = Path(folder) / "allreduce", Path(folder) / "agent"
        subprocess.run(["mpicc", "-O2", "-o", str(compiled), str(SOURCE)], check=True)
        enter_host = f'exec nsenter --target "$(cat {LAB}/run/slurmd-$host.pid)" --net --uts sh -c "$*"'
        agent.write_text(f"#!/bin/sh\nhost=$1; shift\n{enter_host}\n")
        agent.chmod(0o755)
        yield compiled


def call_times_s(
    compiled: Path, variant: str, hosts: Sequence[str], ranks_per_host: int, *, repeats: dict[int, int]
) -> dict[int, list[float]]:
    """Return bytes -> seconds of every call, for every size in `repeats`; raise RuntimeError if mpirun fails."""
    command = [*on_host(hosts[0]), "nice", "-n", "-10", "mpirun", "--allow-run-as-root", "--oversubscribe"]
    command += ["--host", ",".join(f"{host}:{ranks_per_host}" for host in hosts), "--map-by", "slot"]
    parameters = ["plm_rsh_agent", str(compiled.with_name("agent")), "mpi_yield_when_idle", "1"]
    parameters += ["btl_tcp_if_include", "eth0", "oob_tcp_if_include", "eth0", *VARIANTS[variant]]
    for name, value in zip(parameters[::2], parameters[1::2], strict=True):
        command += ["--mca", name, value]
    place = "separate" if "-han-" in variant else "in-place"
    command += ["--bind-to", "none", str(compiled), place, *(f"{nbytes}:{count}" for nbytes, count in repeats.items())]
    lines = [line.split() for line in _output(command).splitlines()]
    return {int(nbytes): list(map(float, seconds)) for nbytes, *seconds in lines}


def allreduce_s(
    variant: str, hosts: Sequence[str], ranks_per_host: int, *, sizes: list[int], repeats: int
) -> dict[int, float]:
    """Return bytes -> median seconds of an all-reduce for every size, without the first call of small sizes."""
    counts = {size: 4 * repeats if size <= 1 << 20 else min(repeats, 2) if size >> 26 else repeats for size in sizes}
    warmed_up = {size: count + (not size >> 26) for size, count in counts.items()}
    with program() as compiled:
        found = call_times_s(compiled, variant, hosts, ranks_per_host, repeats=warmed_up)
    return {nbytes: median(seconds[-counts[nbytes] :]) for nbytes, seconds in found.items()}


def _output(command: list[str]) -> str:
    """Return the output of the command; end the command and its ranks if this process is interrupted."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            out, errors = process.communicate(timeout=TIMEOUT_S)
        except BaseException as error:
            process.terminate()  # on SIGTERM mpirun ends its ranks; on SIGKILL the ranks would survive
            if isinstance(error, subprocess.TimeoutExpired):
                raise RuntimeError(f"mpirun took more than {TIMEOUT_S} s") from error
            raise
    if process.returncode:
        last = next((line for line in reversed(errors.splitlines()) if line.strip(" -")), "")
        raise RuntimeError(f"mpirun ended with status {process.returncode}: {last}")
    return out
