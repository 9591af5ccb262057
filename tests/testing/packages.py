"""Install the Debian packages that the tests drive, where that is possible; say what is left out where it is not."""

import os
import shutil
import subprocess
import sys

# package -> a program of it
PACKAGES = {
    "acl": "setfacl",
    "chromium": "chromium",
    "docker-compose": "docker-compose",
    "environment-modules": "modulecmd",
    "faketime": "faketime",
    "iproute2": "ip",
    "mariadb-server": "mariadbd",
    "libjpeg-turbo-progs": "jpegtran",
    "libopenmpi-dev": "mpicc",
    "munge": "munged",
    "nginx-light": "nginx",
    "numactl": "numactl",
    "openmpi-bin": "mpirun",
    "openssl": "openssl",
    "postgresql": "psql",
    "redis-server": "redis-server",
    "slurm-client": "sbatch",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "slurmdbd": "slurmdbd",
}
SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def main() -> int:
    """Install what is missing as root on Debian; 0 also where that cannot be done, unless CI is set."""
    missing = [package for package, program in PACKAGES.items() if not shutil.which(program, path=SEARCH_PATH)]
    if not missing:
        return 0
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        for package in missing:
            print(f"not installed, and this is not root on Debian: {package}; tests that need it cannot run")
        return int(os.environ.get("CI") == "true")
    # RUNLEVEL: the packages' own services are not started, the tests start theirs
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for command in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", *missing]):
        subprocess.run(["apt-get", *command], check=True, env=environment, stdout=subprocess.DEVNULL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
