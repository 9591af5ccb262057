"""Does a collective, or a data set in memory, fit so many ranks?"""

from contract.spec.choices.collectives import Collective, Colors, Hierarchical, Server, Torus
from contract.spec.choices.data import Data, Folder, InMemory
from contract.spec.choices.rules import Rule, Sync
from contract.validation import Fault


def misfit(collective: Collective, world: int) -> Fault | None:
    """What keeps `world` ranks from this collective, with the sum; none when it fits."""
    match collective:
        case Torus(rows=int(rows)) if world % rows:
            return Fault(path="rows", message=f"{world} ranks do not form a torus of {rows} rows")
        case Colors(k=k) if k > world:
            return Fault(path="k", message=f"{k} colors need at least {k} ranks, and there are {world}")
        case Hierarchical(group=int(group)) if group > world:
            return Fault(path="group", message=f"a group of {group} is more than the {world} ranks there are")
        case Server(servers=servers) if servers > world:
            return Fault(path="servers", message=f"{servers} servers are more than the {world} ranks there are")
        case _:
            return None


def unplaced(data: Data, rule: Rule, world: int) -> Fault | None:
    """What keeps `world` ranks from holding this data set in memory; none when they can."""
    match data:
        case Folder(in_memory=InMemory(group=int(group))) if world % group:
            message = f"{world} ranks do not divide into groups of {group}"
            return Fault(path="data.in_memory.group", message=message)
        case Folder(in_memory=InMemory(group=group)) if group != 1 and not isinstance(rule, Sync):
            message = f"ranks exchange images before every epoch, and {rule.kind} waits for none: take groups of 1"
            return Fault(path="data.in_memory.group", message=message)
        case _:
            return None
