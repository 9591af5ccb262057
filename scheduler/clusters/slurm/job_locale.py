"""The locale of a job. sbatch passes its environment on, and the service calls it with LC_ALL=C for English messages.

The job gets the LC_ALL of the service's own environment back, by which its programs print UTF-8.
"""

from collections.abc import Mapping

_CARRIER = "BIGBATCH_LC_ALL"  # the service's own LC_ALL, from the call of sbatch to the script of the job
_OF_COMMANDS = {"LC_ALL": "C", "SLURM_BITSTR_LEN": "0"}  # English messages, and lists of tasks in full

# a script that a user submits by hand has no carrier, and so the user's locale
RESTORE_LOCALE = (
    f'[ -z "${{{_CARRIER}+set}}" ] || {{ unset {" ".join(_OF_COMMANDS)}; '
    f'[ -z "${_CARRIER}" ] || export LC_ALL="${_CARRIER}"; unset {_CARRIER}; }}'
)


def with_plain_output(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command of Slurm whose output can be parsed, with the locale for the job's script."""
    return {**environment, **_OF_COMMANDS, _CARRIER: environment.get("LC_ALL", "")}
