"""What this service lacks for an experiment: a cluster, a target of messages, a module, resources of a cluster."""

from sqlalchemy.orm import Session

from contract.api.cluster_report import ClusterReport
from contract.spec.checks.cluster import check_cluster
from contract.spec.expanded import Expanded
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.step_grid import MAX_ISSUES
from contract.validation import ValidationIssue
from orders.checks.absent_modules import absent_modules
from orders.refused import Refused, invalid
from store import clusters
from store.notify.targets import target_ids

CONTRADICTED = (
    "the cluster's report or the service's Python contradicts the experiment; force=true (--force) submits it"
)


def check_service(db: Session, experiment: Expanded, *, force: bool) -> Refused | None:
    """Refuse runs that no cluster of this service can carry out; `force` trusts no report of a cluster."""
    refused = _check_clusters(db, experiment) or check_targets(db, experiment.spec)
    return refused if refused or force else _check_reports(db, experiment)


def _check_clusters(db: Session, experiment: Expanded) -> Refused | None:
    """Refuse runs for a cluster that this service lacks, as far as its scheduler has reported its clusters."""
    here = {row.kind for row in clusters.reports(db)}
    asked = {run.resources.kind for _, run in experiment.points}
    if not here or not (absent := sorted(asked - here)):
        return None
    number = next(number for number, (_, run) in enumerate(experiment.points) if run.resources.kind == absent[0])
    place = experiment.place("resources.kind", number)
    message = f"this service has no {absent[0]} cluster; it has {', '.join(sorted(here))}"
    return invalid("the experiment cannot be carried out here", place, message)


def _check_reports(db: Session, experiment: Expanded) -> Refused | None:
    """Refuse resources that the newest report of their cluster contradicts; a cluster without a report has none."""
    # the queue of a large cluster is long, and no check reads it
    reports = {
        row.kind: ClusterReport.model_validate({**row.report, "queue": []})
        for row in clusters.reports(db)
        if row.report
    }
    needs = {
        (run.resources.model_dump_json(), run.replica): (number, run.resources)
        for number, (_, run) in reversed(list(enumerate(experiment.points)))
    }
    issues = [
        ValidationIssue(
            path=experiment.place(issue.path, number),
            message=f"{issue.message} (point {number})" if len(experiment.points) > 1 else issue.message,
        )
        for (_, replica), (number, need) in reversed(needs.items())
        if need.kind in reports
        for issue in check_cluster(need, reports[need.kind], replica=replica)
    ]
    issues += [_with_hint(issue) for kind, issue in absent_modules(experiment) if kind == "local"]
    return Refused(CONTRADICTED, issues[:MAX_ISSUES], is_forceable=True) if issues else None


def _with_hint(issue: ValidationIssue) -> ValidationIssue:
    hint = "start the service with the module's folder on PYTHONPATH, or install the module (docs/own-parts.md)"
    return issue.model_copy(update={"message": f"{issue.message}: {hint}"})


def check_targets(db: Session, spec: ExperimentSpec) -> Refused | None:
    """Refuse a rule whose target this service does not have."""
    if not spec.notify:
        return None
    known = target_ids(db, {rule.target for rule in spec.notify})
    issues = [
        ValidationIssue(
            path=f"notify.{number}.target",
            message=f"there is no target {rule.target}: `bigbatch notify add-webhook` or `add-address` stores one",
        )
        for number, rule in enumerate(spec.notify)
        if rule.target not in known
    ]
    return Refused("a target of notifications is not known", issues) if issues else None
