"""What speaks against the submission of an experiment here: errors that refuse it, and warnings."""

from sqlalchemy.orm import Session

from api.code.absent_modules import absent_modules
from api.errors import Invalid
from api.notify.spec_rules import refuse_unknown_targets
from contract.api.cluster_report import ClusterReport
from contract.spec.checks.cluster import check_cluster
from contract.spec.checks.input.loader_cpus import warn_of_few_cpus
from contract.spec.checks.time_limit import warn_of_short_limit
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.step_grid import MAX_ISSUES
from contract.spec.steps.workflow import unknown_step, with_descendants
from contract.validation import ValidationIssue
from store import clusters


def refuse_impossible(db: Session, spec: ExperimentSpec, *, force: bool) -> None:
    """Raise Invalid for runs that no cluster of this service can carry out; `force` trusts no report of a cluster."""
    _refuse_absent_clusters(db, spec)
    refuse_unknown_targets(db, spec)
    if not force:
        _refuse_contradictions(db, spec)


def steps_to_carry_out(spec: ExperimentSpec, from_step: str | None) -> frozenset[str]:
    """Return the step with this name and those that need it, directly or not; raise Invalid if there is none."""
    if from_step is None:
        return frozenset()
    names = [step.name for step in spec.steps]
    if from_step not in names:
        message = unknown_step(from_step, names) if names else "the experiment has no steps"
        raise Invalid("no step to begin at", [ValidationIssue(path="from_step", message=message)])
    return frozenset(with_descendants(spec.steps, from_step))


def _refuse_absent_clusters(db: Session, spec: ExperimentSpec) -> None:
    """Refuse runs for a cluster that this service lacks, as far as its scheduler has reported its clusters."""
    here = {row.kind for row in clusters.reports(db)}
    asked = {run.resources.kind for _, run in spec.points()}
    if here and (absent := sorted(asked - here)):
        message = f"this service has no {absent[0]} cluster; it has {', '.join(sorted(here))}"
        number = next(number for number, (_, run) in enumerate(spec.points()) if run.resources.kind == absent[0])
        place = spec.place("resources.kind", number) if spec.is_workflow else "base.resources.kind"
        raise Invalid("the experiment cannot be carried out here", [ValidationIssue(path=place, message=message)])


def _refuse_contradictions(db: Session, spec: ExperimentSpec) -> None:
    """Refuse resources that the newest report of their cluster contradicts; a cluster without a report has none."""
    # the queue of a large cluster is long, and no check reads it
    reports = {
        row.kind: ClusterReport.model_validate({**row.report, "queue": []})
        for row in clusters.reports(db)
        if row.report
    }
    needs = {
        (run.resources.model_dump_json(), run.replica): (number, run.resources)
        for number, (_, run) in reversed(list(enumerate(spec.points())))
    }
    issues = [
        ValidationIssue(
            path=spec.place(issue.path, number),
            message=f"{issue.message} (point {number})" if len(spec.points()) > 1 else issue.message,
        )
        for (_, replica), (number, need) in reversed(needs.items())
        if need.kind in reports
        for issue in check_cluster(need, reports[need.kind], replica=replica)
    ]
    issues += [_with_hint(issue) for kind, issue in absent_modules(spec) if kind == "local"]
    if issues:
        message = (
            "the cluster's report or the service's Python contradicts the experiment; force=true (--force) submits it"
        )
        raise Invalid(message, issues[:MAX_ISSUES])


def _with_hint(issue: ValidationIssue) -> ValidationIssue:
    hint = "start the service with the module's folder on PYTHONPATH, or install the module (docs/own-parts.md)"
    return issue.model_copy(update={"message": f"{issue.message}: {hint}"})


def submission_warnings(spec: ExperimentSpec) -> list[str]:
    """Return what the service cannot decide: the jobs may use another Python, start faster, or load images faster."""
    modules = [f"{issue.path}: {issue.message}; the jobs' Python must have it" for _, issue in absent_modules(spec)]
    short = [
        f"{spec.place(issue.path, number)}: {issue.message}"
        for number, (_, run) in enumerate(spec.points())
        if (issue := warn_of_short_limit(run.resources))
    ]
    few = [
        f"{spec.place(issue.path, number)}: {issue.message}"
        for number, (_, run) in enumerate(spec.points())
        if run.kind == "engine" and (issue := warn_of_few_cpus(run))
    ]
    return [*modules, *dict.fromkeys(short), *dict.fromkeys(few)]
