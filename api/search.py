"""GET /experiments/{experiment_id}/search: the trials of a search, the best so far, and what mattered."""

from collections import Counter
from collections.abc import Mapping, Sequence
from threading import Lock

from fastapi import APIRouter, Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.database import Reading
from api.errors import NotFound
from api.http.statuses import ITEM
from api.parameters import ExperimentId
from api.rows import found_experiment
from contract.api.search import BestSoFar, Lineage, SearchDetail, SearchStatus, TrialView
from contract.lifecycle.trial import TrialStatus
from contract.spec.any_run import read_run
from contract.spec.grid.grid import Values
from contract.spec.search.checks import last_resource
from contract.spec.search.early_stopping import NoStopping, brackets_of, rungs_of
from contract.spec.search.search import SearchSpec
from store.search import searches, usage
from store.tables.runs import Run
from store.tables.searches import Search, Trial
from study.search.trials import LEAST_TRIALS

router = APIRouter(prefix="/experiments", tags=["searches"])
MAX_WEIGHED = 1000  # of the newest trials, for the importance: more take a second
MAX_CACHED = 100  # searches


class ImportanceCache:
    """The importance of parameters by search, until a trial of the search changes."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[int, dict[str, float]]] = {}
        self._lock = Lock()

    def of(self, search: Search, spec: SearchSpec, trials: Sequence[Trial]) -> dict[str, float]:
        """Return the importance of each parameter."""
        with self._lock:
            version, shares = self._found.get(search.id, (-1, {}))
            if version != search.version:
                shares = _importance(spec, trials)
                if len(self._found) >= MAX_CACHED:
                    self._found.clear()
                self._found[search.id] = (search.version, shares)
            return shares


@router.get("/{experiment_id:id}/search", responses=ITEM)
def get_search(experiment_id: ExperimentId, request: Request, db: Reading) -> SearchDetail:
    """Return the search of an experiment with all its trials."""
    base = found_experiment(db, experiment_id).spec["base"]
    search = searches.of_experiment(db, experiment_id)
    if search is None:
        raise NotFound(f"experiment {experiment_id} has no search: its runs are the points of its axes")
    spec, trials = SearchSpec.model_validate(search.spec), searches.trials_of(db, search.id)
    run_ids = _run_ids(db, experiment_id)
    last = last_resource(spec, read_run(base))
    rule = spec.early_stopping
    views = [_view(trial, run_ids) for trial in trials]
    best = _best(views, maximizes=spec.maximizes)
    return SearchDetail(
        experiment_id=experiment_id,
        status=status_of(search),
        end_cause=search.end_cause,
        spec=spec,
        maximizes=spec.maximizes,
        wanted=search.trials,
        counts=dict(Counter(trial.status for trial in trials)),
        used_rank_hours=sum(usage.rank_seconds(db, experiment_id).values()) / 3600,
        resources=[rungs_of(rule, last, bracket) for bracket in range(brackets_of(rule, last))],
        best=best,
        best_so_far=_best_so_far(views, maximizes=spec.maximizes),
        importance=request.app.state.importance.of(search, spec, trials),
        trials=views,
    )


def status_of(search: Search) -> SearchStatus:
    """Return whether a search goes on, is paused or has ended."""
    if search.ended_at is not None:
        return "ended"
    return "running" if search.paused_at is None else "paused"


def _run_ids(db: Session, experiment_id: int) -> dict[int, int]:
    query = select(Run.number, Run.id).where(Run.experiment_id == experiment_id, Run.deleted_at.is_(None))
    return dict(db.execute(query).all())


def _view(trial: Trial, run_ids: Mapping[int, int]) -> TrialView:
    numbers = range(trial.first_run, trial.first_run + trial.runs)
    return TrialView(
        number=trial.number,
        params=trial.params,
        status=trial.status,
        value=trial.value,
        rungs=trial.rungs,
        bracket=trial.bracket,
        lineage=Lineage(**trial.memory) if trial.memory.keys() >= Lineage.model_fields.keys() else None,
        run_ids=[run_ids[number] for number in numbers if number in run_ids],
        message=trial.message,
        asked_at=trial.asked_at,
        ended_at=trial.ended_at,
    )


def _best(trials: Sequence[TrialView], *, maximizes: bool) -> TrialView | None:
    """Return the trial with the best value, of equal ones the first."""
    known = [(trial.value, trial) for trial in trials if trial.value is not None]
    if not known:
        return None
    value = (max if maximizes else min)(value for value, _ in known)
    return next(trial for own, trial in known if own == value)


def _best_so_far(trials: Sequence[TrialView], *, maximizes: bool) -> list[BestSoFar]:
    found: list[BestSoFar] = []
    ended = sorted((trial.ended_at, trial.number, trial.value) for trial in trials if trial.ended_at is not None)
    for at, number, value in ended:
        if value is None:
            continue
        if not found or (value > found[-1].value if maximizes else value < found[-1].value):
            found.append(BestSoFar(number=number, at=at, value=value))
    return found


def _importance(spec: SearchSpec, trials: Sequence[Trial]) -> dict[str, float]:
    """Return the importance by the values of whole trials; with early stopping by those of the first comparison.

    Values of trials that trained for different times cannot be compared.
    """
    if isinstance(spec.early_stopping, NoStopping):
        ended = [trial for trial in trials if trial.status in (TrialStatus.DONE, TrialStatus.FAILED)]
        compared: list[tuple[Values, float | None]] = [(trial.params, trial.value) for trial in ended]
    else:
        compared = [(trial.params, trial.rungs[0]) for trial in trials if trial.rungs]
    if len(compared) < LEAST_TRIALS:
        return {}
    from study.search.importance import importances  # Optuna takes a second to load

    return importances(spec, compared[-MAX_WEIGHED:])
