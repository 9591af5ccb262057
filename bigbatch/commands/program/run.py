"""`bigbatch run`: submit a program from the shell, without a file."""

import sys
from pathlib import Path
from typing import Any

import typer

from bigbatch.client import Client
from bigbatch.commands.program import options
from bigbatch.commands.program.document import (
    make_document,
    make_environment,
    make_resources,
    parse_pairs,
    parse_sbatch,
)
from bigbatch.commands.watch import watch_unless_interrupted
from bigbatch.snapshot.attach import attach_snapshot, describe
from bigbatch.terminal.output import format_count, make_console
from contract.yaml_writer import write_yaml


def run(
    words: options.Words,
    name: options.Name = None,
    *,
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
    steps: options.Steps = 0,
    follow: options.Follow = False,
    force: options.Force = False,
    no_snapshot: options.NoSnapshot = False,
    as_yaml: options.Print = False,
) -> None:
    """Submit COMMAND; with --sweep each value is a run, which gets it as {NAME} in COMMAND.

    The runs use a snapshot of this folder, as it is now.
    """
    need = {"partition": partition, "nodes": nodes, "cpus_per_rank": cpus_per_rank, "gpus_per_rank": gpus_per_rank}
    need |= {"minutes": minutes, "memory_gb": memory, "account": account, "qos": qos}
    resources = make_resources(slurm or bool(partition), ranks_per_node, options=parse_sbatch(sbatch or []), **need)
    lists = {"modules": module, "setup": setup, "variables": parse_pairs(env or [], "--env")}
    base: dict[str, Any] = {"launcher": launcher, "steps": steps}
    base["environment"] = make_environment(venv=venv, conda=conda, container=container, **lists)
    base |= {"metrics": [{"kind": "output", "pattern": pattern} for pattern in metric]} if metric else {}
    base |= {"working_folder": str(Path.cwd())} if no_snapshot else {}
    document = make_document(words, name=name, resources=resources, sweep=sweep or [], base=base)
    if as_yaml:
        print(write_yaml(document), end="")
        return
    _submit(document, force=force, follow=follow)


def _submit(document: dict[str, Any], *, force: bool, follow: bool) -> None:
    with Client() as client:
        document, taken = attach_snapshot(document, Path.cwd(), client)
        for line in (
            [describe(taken), *(f"warning: not in the snapshot: {one}" for one in taken.left_out)] if taken else []
        ):
            print(line, file=sys.stderr)
        created = client.create(document, force=force)
        for warning in created.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        url = client.experiment_url(created.id)
        print(f"experiment {created.id}, {format_count(len(created.runs), 'run')}: {url}", flush=True)
        if follow and not watch_unless_interrupted(client, created.id, make_console()):
            raise typer.Exit(1)
