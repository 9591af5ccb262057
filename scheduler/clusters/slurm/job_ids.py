"""Ids of jobs and array tasks, and host names, as Slurm writes them: 77, 77_3, 77_[0-4,7], gpu[1-3]."""

import re
from collections import defaultdict
from collections.abc import Iterable

from submitit.slurm.slurm import SlurmParseException, _parse_node_list


def format_tasks(tasks: Iterable[int]) -> str:
    """Return 0, 1, 2, 5 as "0-2,5"."""
    ranges: list[list[int]] = []
    for task in sorted(set(tasks)):
        if ranges and ranges[-1][1] == task - 1:
            ranges[-1][1] = task
        else:
            ranges.append([task, task])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def parse_tasks(text: str) -> set[int]:
    """Return the tasks of "7", "0-2,5" or "1-9:2%4" (%4: four tasks at once); no task for any other text."""
    tasks: set[int] = set()
    for part in text.partition("%")[0].split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
        if not match:
            return set()
        first, last, step = (int(number) if number else None for number in match.groups())
        assert first is not None
        tasks.update(range(first, (first if last is None else last) + 1, step or 1))
    return tasks


def merge_array_tasks(job_ids: Iterable[str]) -> list[str]:
    """Return the same jobs with one id for each array: a command sends the controller one request for each id."""
    arrays: dict[str, list[int]] = defaultdict(list)
    others = []
    for job_id in job_ids:
        array, _, task = job_id.partition("_")
        if task.isdigit():
            arrays[array].append(int(task))
        else:
            others.append(job_id)
    return others + [f"{array}_[{format_tasks(tasks)}]" for array, tasks in arrays.items()]


def array_id(job_id: str) -> str:
    """Return the id of the whole array (77_3) or heterogeneous job (77+1); of any other job its own id."""
    return re.split("[_+]", job_id, maxsplit=1)[0]


def parse_hosts(text: str) -> list[str]:
    """Return the hosts of "gpu[1-3,7],knl2"; no host for any other text ("None assigned", "(null)")."""
    if not text or " " in text or "(" in text:
        return []
    try:
        return list(_parse_node_list(text))
    except SlurmParseException:
        return []
