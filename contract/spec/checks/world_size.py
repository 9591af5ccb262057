"""Checks of a collective and of in-memory data groups against the number of ranks."""

from contract.spec.choices.collectives import Collective, Colors, Hierarchical, Server, Torus
from contract.spec.choices.data import Data, ImageFiles, InMemory
from contract.spec.choices.rules import Rule, Sync
from contract.validation import ValidationIssue


def check_world_size(collective: Collective, world: int) -> ValidationIssue | None:
    """Return an issue if `world` ranks cannot use the collective, else None."""
    match collective:
        case Torus(rows=int(rows)) if world % rows:
            return ValidationIssue(path="rows", message=f"{world} ranks do not form a torus of {rows} rows")
        case Colors(k=k) if k > world:
            return ValidationIssue(path="k", message=f"{k} colors need at least {k} ranks, but the run has {world}")
        case Hierarchical(group=int(group)) if group > world:
            return ValidationIssue(path="group", message=f"a group of {group} is larger than the run's {world} ranks")
        case Server(servers=servers) if servers > world:
            return ValidationIssue(path="servers", message=f"{servers} servers are more than the run's {world} ranks")
        case _:
            return None


def check_data_groups(data: Data, rule: Rule, world: int) -> ValidationIssue | None:
    """Return an issue if `world` ranks cannot hold the data set in memory by groups, else None."""
    match data:
        case ImageFiles(in_memory=InMemory(group=int(group))) if world % group:
            message = f"{world} ranks do not divide into groups of {group}"
            return ValidationIssue(path="data.in_memory.group", message=message)
        case ImageFiles(in_memory=InMemory(group=group)) if group != 1 and not isinstance(rule, Sync):
            message = f"groups exchange images before every epoch, but {rule.kind} does not synchronize: set group to 1"
            return ValidationIssue(path="data.in_memory.group", message=message)
        case _:
            return None
