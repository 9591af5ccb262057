"""`bigbatch run`: submit a program from the shell, without a file."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from bigbatch.client import Client
from bigbatch.commands.options import SnapshotMb
from bigbatch.commands.program import options
from bigbatch.commands.program.document import (
    make_document,
    make_environment,
    make_objective,
    make_resources,
    parse_pairs,
    parse_sbatch,
    unused_parameters,
)
from bigbatch.commands.watch import watch_unless_interrupted
from bigbatch.snapshot.attach import attach_snapshot, describe_snapshot
from bigbatch.snapshot.capture import MAX_MB
from bigbatch.sweeps.typed_values import kept_texts
from bigbatch.terminal.output import format_count, make_console
from contract.yaml_writer import write_yaml


def run(
    words: options.Words,
    name: options.Name = None,
    *,
    project: options.Project = None,
    tag: options.Tags = None,
    description: options.Description = None,
    partition: options.Partition = None,
    slurm: options.Slurm = False,
    nodes: options.Nodes = 1,
    ranks_per_node: options.Ranks = 1,
    cpus_per_rank: options.Cpus = None,
    gpus_per_rank: options.Gpus = None,
    minutes: options.Minutes = None,
    memory: options.Memory = None,
    account: options.Account = None,
    qos: options.Qos = None,
    sbatch: options.Sbatch = None,
    launcher: options.Launcher = "srun",
    venv: options.Venv = None,
    conda: options.Conda = None,
    module: options.Modules = None,
    container: options.Image = None,
    setup: options.Setup = None,
    env: options.Variables = None,
    sweep: options.Sweep = None,
    metric: options.Metric = None,
    objective: options.ObjectiveMetric = None,
    goal: options.ObjectiveGoal = None,
    objective_value: options.ObjectiveValue = None,
    steps: options.Steps = 0,
    follow: options.Follow = False,
    force: options.Force = False,
    no_snapshot: options.NoSnapshot = False,
    snapshot_mb: SnapshotMb = MAX_MB,
    as_yaml: options.Print = False,
) -> None:
    """Submit COMMAND with a snapshot of this folder; with --sweep each value is a run, which has it as {NAME}."""
    document = _document(words, locals())
    sys.stderr.writelines(f"note: {line}\n" for line in _notes(document))
    if as_yaml:
        print(write_yaml(document), end="")
    else:
        _submit(document, force=force, follow=follow, max_mb=snapshot_mb)


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what may surprise the user about the swept parameters."""
    for path, values in document.get("axes", {}).items():
        if kept := kept_texts(values):
            yield f"the values of {path} are texts, as typed: {', '.join(kept)[:100]}"
    for name in unused_parameters(document):
        place = f"{{{name}}}"
        yield (
            f"{place} is not in the command, so all runs get the same command: write it there, as {name}={place} or "
            f"--{name} {place}, unless the program reads its parameters by bigbatch.config or from a file"
        )


def _document(words: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the experiment that the options describe; `given` has the value of each."""
    need = {name: given[name] for name in ("partition", "nodes", "cpus_per_rank", "gpus_per_rank", "minutes", "qos")}
    need |= {"memory_gb": given["memory"], "account": given["account"]}
    on_slurm = given["slurm"] or bool(given["partition"])
    sbatch = parse_sbatch(given["sbatch"] or [])
    resources = make_resources(on_slurm, given["ranks_per_node"], options=sbatch, **need)
    lists = {"modules": given["module"], "setup": given["setup"]}
    lists["variables"] = parse_pairs(given["env"] or [], "--env")
    places = {name: given[name] for name in ("venv", "conda", "container")}
    base: dict[str, Any] = {"launcher": given["launcher"], "steps": given["steps"]}
    base["environment"] = make_environment(**places, **lists)
    if given["metric"]:
        base["metrics"] = [{"kind": "output", "pattern": pattern} for pattern in given["metric"]]
    if given["no_snapshot"]:
        base["working_folder"] = str(Path.cwd())
    labels = {"name": given["name"], "description": given["description"], "project": given["project"]}
    labels["tags"] = given["tag"]
    labels["objective"] = make_objective(given["objective"], goal=given["goal"], value=given["objective_value"])
    return make_document(words, labels=labels, resources=resources, sweep=given["sweep"] or [], base=base)


def _submit(document: dict[str, Any], *, force: bool, follow: bool, max_mb: float) -> None:
    with Client() as client:
        document, taken = attach_snapshot(document, Path.cwd(), client, max_mb=max_mb)
        for line in describe_snapshot(taken) if taken else ():
            print(line, file=sys.stderr)
        created = client.create(document, force=force)
        for warning in created.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        url = client.experiment_url(created.id)
        print(f"experiment {created.id}, {format_count(len(created.runs), 'run')}: {url}", flush=True)
        if follow and not watch_unless_interrupted(client, created.id, make_console()):
            raise typer.Exit(1)
