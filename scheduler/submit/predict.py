"""When Slurm would start the jobs of a draft: one answer for each kind of job, under the shared rate limit."""

from collections.abc import Iterator

from contract.api.drafts import MOST_KINDS, SlurmPrediction
from contract.settings import Settings
from contract.spec.expanded import Expanded
from scheduler.clusters.cluster import BackingOffError, HostFaultError, RateLimitedError
from scheduler.context import find_slurm
from scheduler.submit.dry_run import first_scripts
from store.session import engine_for

ASK_AGAIN = "Slurm was asked as often as the service allows itself; ask again in a minute"


def predict_starts(experiment: Expanded, settings: Settings) -> Iterator[SlurmPrediction]:
    """Yield what Slurm predicts for each kind of Slurm job of the draft; nothing where this host has no Slurm."""
    slurm, _ = find_slurm(settings, engine_for(settings.database_url()))
    if slurm is None:
        return
    for script in first_scripts(experiment, settings, MOST_KINDS):
        try:
            yield slurm.predict_start(script)
        except (BackingOffError, HostFaultError) as error:
            yield SlurmPrediction(message=str(error))
        except RateLimitedError:
            yield SlurmPrediction(message=ASK_AGAIN)
