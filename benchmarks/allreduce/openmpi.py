"""OpenMPI's all-reduce on the lab's hosts, as the alternative of a user without Bigbatch."""

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
    """Return a sentence about missing programs and their packages, or an empty string."""
    if shutil.which("mpirun") and shutil.which("mpicc"):
        return ""
    return "mpirun or mpicc is missing; OpenMPI is not measured: apt-get install openmpi-bin libopenmpi-dev"


def allreduce_s(
    algorithm: str, hosts: list[str], ranks_per_host: int, *, sizes: list[int], repeats: int
) -> dict[int, float]:
    """Return bytes -> median seconds of an all-reduce for every size."""
    with tempfile.TemporaryDirectory() as folder:
        program, agent = Path(folder) / "allreduce", Path(folder) / "agent"
        subprocess.run(["mpicc", "-O2", "-o", str(program), str(SOURCE)], check=True)
        # mpirun calls the agent in place of ssh.
        enter_host = f'exec nsenter --target "$(cat {LAB}/run/slurmd-$host.pid)" --net --uts sh -c "$*"'
        agent.write_text(f"#!/bin/sh\nhost=$1; shift\n{enter_host}\n")
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
    """Return the output of the command; end the command and its ranks if this process is interrupted."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            out, _ = process.communicate()
        except BaseException:
            process.terminate()  # on SIGTERM mpirun ends its ranks; on SIGKILL the ranks would survive
            raise
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {process.returncode}")
    return out
