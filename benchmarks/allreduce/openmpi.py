"""OpenMPI on the lab's hosts: what a user without this project would reach for."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.launcher import LAB, on_host

SOURCE = Path(__file__).with_name("openmpi_allreduce.c")
ALGORITHMS = {
    "openmpi": [],
    "openmpi-ring": ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm", "4"],
}


def missing() -> str:
    """Return what OpenMPI lacks here and how to get it, or nothing."""
    if shutil.which("mpirun") and shutil.which("mpicc"):
        return ""
    return "no mpirun or mpicc: apt-get install openmpi-bin libopenmpi-dev"


def allreduce_s(
    algorithm: str, hosts: list[str], ranks_per_host: int, *, sizes: list[int], repeats: int
) -> dict[int, float]:
    """Return the median seconds of an all-reduce for every size."""
    with tempfile.TemporaryDirectory() as folder:
        program, agent = Path(folder) / "allreduce", Path(folder) / "agent"
        subprocess.run(["mpicc", "-O2", "-o", str(program), str(SOURCE)], check=True)
        # mpirun calls it as it would call ssh
        go_there = f'exec nsenter --target "$(cat {LAB}/run/slurmd-$host.pid)" --net --uts sh -c "$*"'
        agent.write_text(f"#!/bin/sh\nhost=$1; shift\n{go_there}\n")
        agent.chmod(0o755)
        command = [*on_host(hosts[0]), "nice", "-n", "-10", "mpirun", "--allow-run-as-root", "--oversubscribe"]
        command += ["--host", ",".join(f"{host}:{ranks_per_host}" for host in hosts), "--map-by", "slot"]
        command += ["--bind-to", "none", "--mca", "plm_rsh_agent", str(agent), "--mca", "mpi_yield_when_idle", "1"]
        command += ["--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0"]
        command += [*ALGORITHMS[algorithm], str(program), str(repeats), *map(str, sizes)]
        out = _output(command)
    pairs = [line.split() for line in out.splitlines()]
    return {int(nbytes): float(seconds) for nbytes, seconds in pairs}


def _output(command: list[str]) -> str:
    """What the command prints; whoever ends this process ends it and its ranks too."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            out, _ = process.communicate()
        except BaseException:
            process.terminate()  # mpirun ends its ranks; killed, it would leave them
            raise
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return out
