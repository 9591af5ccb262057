"""Jobs that a program submits itself, as submitit and Hydra's launcher do: RUN/attempts/bin/sbatch.

sbatch copies its environment into the new job. From within a run that would be the rank's number, the address of its
rank 0, the size of its own job and the run's folder, so the new job would take itself for a part of this run. The
ranks therefore find a script before sbatch, which leaves these variables out and notes the number of each new job.
"""

from __future__ import annotations

import shutil

from agent.folder.run_folder import RunFolder

BIN = "bin"  # in `attempts`
# Slurm's own settings for a user, which are no property of the present job
KEPT = "SLURM_CONF|SLURM_CONF_SERVER|SLURM_JWT|SLURM_MPI_TYPE|SLURM_TIME_FORMAT|SLURM_CLUSTERS"
SCRIPT = f"""\
#!/bin/bash
# leaves the variables of this run out of the job that is submitted, and notes the job's number
[ -z "$BIGBATCH_IN_SBATCH" ] || {{ echo 'sbatch: there is no other sbatch on the PATH' >&2; exit 127; }}
export BIGBATCH_IN_SBATCH=yes
here=$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)
PATH=$(printf %s "$PATH" | tr : '\\n' | grep -Fxv "$here" | paste -sd :)
export PATH
sbatch=$(type -P sbatch) && [ ! "$sbatch" -ef "$0" ] || {{ echo 'sbatch: command not found' >&2; exit 127; }}
list=$BIGBATCH_RUN_FOLDER/attempts/$BIGBATCH_ATTEMPT.jobs
for name in $(compgen -e); do
  case $name in
    {KEPT}) ;;
    SLURM_*|SLURMD_*|BIGBATCH_*|PMI_*|PMIX_*|OMPI_COMM_WORLD_*|MASTER_ADDR|MASTER_PORT) unset "$name" ;;
    RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|NODE_RANK|GROUP_RANK|TORCHELASTIC_*) unset "$name" ;;
    CUDA_VISIBLE_DEVICES|OMPI_MCA_ess*|OMPI_MCA_orte*) unset "$name" ;;
  esac
done
[ "$GLOO_SOCKET_IFNAME" != lo ] || unset GLOO_SOCKET_IFNAME
[ "$NCCL_SOCKET_IFNAME" != lo ] || unset NCCL_SOCKET_IFNAME
"$sbatch" "$@" | while IFS= read -r line || [ -n "$line" ]; do
  printf '%s\\n' "$line"
  if [[ $line =~ ^(Submitted\\ batch\\ job\\ )?([0-9]+)([\\;\\ ].*)?$ ]]; then
    {{ printf '%s %s\\n' "${{BASH_REMATCH[2]}}" "$(date +%s)" >>"$list"; }} 2>/dev/null
  fi
done
exit "${{PIPESTATUS[0]}}"
"""


def install_sbatch(folder: RunFolder) -> None:
    """Write the script, where this machine has sbatch; raise OSError."""
    if shutil.which("sbatch") is None:
        return
    (folder.attempts / BIN).mkdir(exist_ok=True)
    folder.write(f"{BIN}/sbatch", SCRIPT, mode=0o777)


def bin_folder(folder: RunFolder) -> str | None:
    """Return the folder that comes first on the PATH of the ranks; None where there is no sbatch."""
    return str(folder.attempts / BIN) if (folder.attempts / BIN / "sbatch").exists() else None
