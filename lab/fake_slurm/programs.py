"""The commands, as small programs in a folder that goes first on PATH; each leads back to its state folder."""

import os
import sys
from pathlib import Path

COMMANDS = ("sbatch", "squeue", "sacct", "sacctmgr", "scancel", "scontrol", "sinfo", "srun")
HOUSE = Path(__file__).parents[2]
# -S and -E: no packages and no settings of the caller's, so that a command begins in no time
PROGRAM = """\
#!{python} -SE
import sys
sys.path[0] = {house!r}
from lab.fake_slurm.{module} import main
sys.exit(main({command!r}, {folder!r}, sys.argv[1:]))
"""


def write(folder: Path) -> Path:
    """Write the programs; return the folder that belongs on PATH."""
    programs = folder.absolute() / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    python = os.path.realpath(sys.executable)
    for command in COMMANDS:
        module = "srun" if command == "srun" else "commands"
        text = PROGRAM.format(
            python=python, house=str(HOUSE), module=module, command=command, folder=str(folder.absolute())
        )
        (programs / command).write_text(text)
        (programs / command).chmod(0o755)
    return programs
