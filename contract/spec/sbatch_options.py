"""Free options of sbatch in a spec's `resources.options`: which are known, and which a field or the service sets."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from contract.validation import ValidationIssue

# These values are written to #SBATCH lines, so no value may contain whitespace or shell syntax.
OptionText = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.,:;=&|*()\[\]@+/%-]+$", max_length=1000)]
OptionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=100)]
OptionValue = bool | int | OptionText


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


OPTIONS = _names(
    """
    acctg-freq batch bb bcast begin cluster-constraint container container-id contiguous core-spec
    cores-per-socket cpu-freq deadline delay-boot distribution exclusive extra-node-info
    gpu-bind gpu-freq gres-flags hint immediate licenses mail-type mail-user mcs-label mem-bind mem-per-cpu mem-per-gpu
    mincpus network nice nodelist nodefile no-kill ntasks-per-core ntasks-per-socket oom-kill-step overcommit
    oversubscribe power prefer priority profile propagate reboot reservation resv-ports segment sockets-per-node
    spread-job stepmgr switches thread-spec threads-per-core time-min tmp tres-bind tres-per-task use-min-nodes
    wait-all-nodes wckey x11
    """
)
FIELD_OF = {  # option -> the field that sets it
    "account": "account",
    "constraint": "constraint",
    "cpus-per-gpu": "cpus_per_rank",
    "cpus-per-task": "cpus_per_rank",
    "gpus": "gpus_per_rank",
    "gpus-per-node": "gpus_per_rank",
    "gpus-per-socket": "gpus_per_rank",
    "gpus-per-task": "gpus_per_rank",
    "gres": "gres",
    "mem": "memory_gb",
    "nodes": "nodes",
    "ntasks": "ranks_per_node",
    "ntasks-per-gpu": "ranks_per_node",
    "ntasks-per-node": "ranks_per_node",
    "partition": "partition",
    "qos": "qos",
    "time": "minutes",
}
OF_THE_SERVICE = _names(
    """
    array chdir clusters comment dependency error exclude export export-file get-user-env gid hold ignore-pbs input
    job-name kill-on-invalid-dep no-requeue open-mode output parsable quiet requeue signal test-only uid verbose wait
    wrap
    """
)
FLAGS = _names("contiguous exclusive no-kill overcommit oversubscribe reboot spread-job stepmgr use-min-nodes")
EXCLUSIVE = (("mem-per-cpu", "mem-per-gpu"), ("core-spec", "thread-spec"))  # sbatch refuses both together
MEMORY = ("mem-per-cpu", "mem-per-gpu")  # instead of `memory_gb`


def check_exclusive(options: Mapping[str, bool | int | str], *, memory_gb: int | None) -> Iterator[ValidationIssue]:
    """Yield an issue for each option that sbatch refuses beside another one."""
    for first, second in EXCLUSIVE:
        if first in options and second in options:
            message = f"sbatch refuses --{second} beside --{first}: remove one of the two"
            yield ValidationIssue(path=f"options.{second}", message=message)
    for name in MEMORY if memory_gb is not None else ():
        if name in options:
            message = f"sbatch refuses --{name} beside --mem, which `memory_gb` sets ({memory_gb}): remove one"
            yield ValidationIssue(path=f"options.{name}", message=message)


def check_options(options: Mapping[str, bool | int | str]) -> Iterator[ValidationIssue]:
    """Yield an issue for each option that sbatch does not know, or that is not the spec's to set."""
    for name, value in options.items():
        path = f"options.{name}"
        if name in FIELD_OF:
            yield ValidationIssue(path=path, message=f"--{name} is set by `resources.{FIELD_OF[name]}`")
        elif name in OF_THE_SERVICE:
            yield ValidationIssue(path=path, message=f"--{name} is set by the service")
        elif name not in OPTIONS:
            near = difflib.get_close_matches(name, [*OPTIONS, *FIELD_OF], 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield ValidationIssue(path=path, message=f"sbatch has no option --{name}{hint}")
        elif value is False:
            yield ValidationIssue(path=path, message=f"remove the option instead of setting --{name} to false")
        elif value is True and name not in FLAGS:
            yield ValidationIssue(path=path, message=f"--{name} needs a value")
