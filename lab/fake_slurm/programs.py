"""Write the commands as small programs into a folder for PATH; each program uses one state folder."""

import os
import sys
from pathlib import Path

COMMANDS = ("sbatch", "squeue", "sacct", "sacctmgr", "scancel", "scontrol", "sinfo", "srun")
REPOSITORY = Path(__file__).parents[2]
# The options -S and -E skip the caller's packages and settings, so that a command starts quickly.
PROGRAM = """\
#!{python} -SE
import sys
sys.path[0] = {repository!r}
from lab.fake_slurm.{module} import main
sys.exit(main({command!r}, {folder!r}, sys.argv[1:]))
"""


def write(folder: Path) -> Path:
    """Write the programs and return the folder to put on PATH."""
    programs = folder.absolute() / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    python = os.path.realpath(sys.executable)
    for command in COMMANDS:
        module = "srun" if command == "srun" else "commands"
        text = PROGRAM.format(
            python=python, repository=str(REPOSITORY), module=module, command=command, folder=str(folder.absolute())
        )
        (programs / command).write_text(text)
        (programs / command).chmod(0o755)
    return programs
