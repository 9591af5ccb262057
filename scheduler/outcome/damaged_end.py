"""Whether a run is done whose report of its end is damaged. A pure function."""

import re

from contract.lifecycle.job_end import EndKind
from scheduler.outcome.evidence import Evidence
from scheduler.outcome.facts import RunFacts

OF_ITSELF = (EndKind.EXITED, EndKind.PART_EXITED)  # with exit code 0
FINISHED = "finished"
_KIND = re.compile(rb'"kind"\s*:\s*"([a-z]*)("?)')


def is_done_without_report(run: RunFacts, evidence: Evidence) -> bool:
    """Return whether nothing but the last line is missing: the job completed, and all steps are stored.

    A line that was another report than that of the end contradicts it, and so do fewer steps. A run whose number of
    steps is not known is done only by a line that shows that it was that report.
    """
    end = evidence.gone.end
    completed = end.kind is EndKind.COMPLETED or (end.kind in OF_ITSELF and end.exit_code == 0)
    if evidence.damaged_end is None or run.job.reported_cause is not None or evidence.shows_failure or not completed:
        return False
    kind = _KIND.search(evidence.damaged_end)
    if kind is None:
        return 0 < run.steps <= run.step
    text, is_whole = kind[1].decode(), bool(kind[2])
    is_finish = text == FINISHED if is_whole else bool(text) and FINISHED.startswith(text)
    return is_finish and run.step >= run.steps
