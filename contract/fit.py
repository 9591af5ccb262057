"""Does a collective fit so many ranks?"""

from contract.choices.collectives import Collective, Colors, Hierarchical, Server, Torus
from contract.faults import Fault


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
