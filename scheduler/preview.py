"""What would be submitted: every point of a sweep and the exact batch script of each, with nothing submitted."""

from collections.abc import Iterator

from contract.experiment import ExperimentSpec, Values
from contract.folder import RunFolder
from contract.settings import Settings
from contract.spec import RunSpec
from scheduler.clusters.cluster import Cluster, Job
from scheduler.clusters.local import Local
from scheduler.clusters.slurm import Slurm
from scheduler.site import job_name


def preview(experiment: ExperimentSpec, settings: Settings) -> Iterator[str]:
    """Yield lines: the points as a list, then each script once, with the points that it serves."""
    points = experiment.points()
    yield f"{experiment.name}: {len(points)} run{'s' if len(points) != 1 else ''}"
    scripts: dict[str, list[int]] = {}
    for number, (values, run) in enumerate(points):
        yield f"  [{number}] {_line(values, run)}"
        scripts.setdefault(_script(run, settings), []).append(number)
    for script, numbers in scripts.items():
        yield f"\n# --- what is started for run{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        yield script


def _line(values: Values, run: RunSpec) -> str:
    chosen = " ".join(f"{path}={value}" for path, value in values.items()) or "as in base"
    need = run.resources
    return f"{chosen} - {need.kind}, {need.nodes} x {need.ranks_per_node} ranks, {run.steps} steps of {run.batch}"


def _script(run: RunSpec, settings: Settings) -> str:
    """The script with RUN in the place of the number and key that a run gets when it is stored."""
    folder = RunFolder(settings.runs_folder() / "RUN")
    cluster: Cluster = Local() if run.resources.kind == "local" else Slurm(settings.slurm_python, settings.slurm_setup)
    return cluster.script(Job(job_name("RUN", 1), folder, 1, run))
