"""When Slurm would start a job: `sbatch --test-only`, which submits nothing."""

import re
import tempfile
from datetime import datetime

from contract.api.drafts import SlurmPrediction
from scheduler.clusters.cluster import NoAnswerError, RateLimitedError
from scheduler.clusters.rate_limit import Priority
from scheduler.clusters.slurm.commands import Commands

# Slurm's client/sbatch: "Job 15 to start at 2026-11-27T13:40:00 using 4 processors on nodes n[1-2] in partition gpu"
START = re.compile(r"to start at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)")
PREFIX = re.compile(r"^(sbatch: )?(allocation failure: )?")
ARRAY = re.compile(r"^#SBATCH --array=.*\n", re.MULTILINE)


def predict_start(commands: Commands, script: str) -> SlurmPrediction:
    """Ask Slurm when it would start the job of a script; of an array its first task.

    Raise RateLimitedError if Slurm was not asked. A controller that does not answer gives no moment, but a message.
    """
    with tempfile.NamedTemporaryFile("w", prefix="bigbatch-predict-") as file:
        file.write(ARRAY.sub("", script))
        file.flush()
        try:
            result = commands.run("sbatch", "--test-only", file.name, priority=Priority.PREDICT)
        except RateLimitedError:
            raise
        except NoAnswerError as error:
            return SlurmPrediction(message=str(error))
    # sbatch prints the answer as a message, on stderr
    if result.exit_code == 0 and (found := START.search(result.message)):
        # in the local time of this host, where sbatch ran
        return SlurmPrediction(starts_at=datetime.fromisoformat(found.group(1)).astimezone())
    return SlurmPrediction(
        message=PREFIX.sub("", result.message) or f"sbatch ended with {result.exit_code} and no message"
    )
