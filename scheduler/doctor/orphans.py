"""Check whether every job and run folder of the service belongs to a run in its database."""

from sqlalchemy.exc import SQLAlchemyError

from contract.api.site_check import Check, Grade, failed_check, passed_check
from contract.settings import Settings
from scheduler.orphans.find import find_orphans, stored_queues
from store.session import engine_for

MOST_NAMED = 5


def check_orphans(settings: Settings) -> Check | None:
    """Return the result; None if the database or the folder cannot be read, which other checks say."""
    engine = engine_for(settings.database_url())
    try:
        found = find_orphans(engine, settings.runs_folder(), stored_queues(engine))
    except (SQLAlchemyError, OSError):
        return None
    if not found:
        return passed_check("folder", "orphans", "none", "every job and run folder of this service belongs to a run")
    more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    named = "; ".join(one.describe() for one in found[:MOST_NAMED]) + more
    means = "the database is older than its folders, as after a restore: no page shows these runs, and their jobs go on"
    advice = "bigbatch orphans --adopt stores the runs again; --cancel ends their jobs"
    return failed_check("folder", "orphans", Grade.WARNING, found=named, means=means, advice=advice)
