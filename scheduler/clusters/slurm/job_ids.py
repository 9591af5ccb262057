"""Ids of jobs, of tasks in arrays, and names of hosts, as Slurm spells them: 77, 77_3, 77_[0-4,7], gpu[1-3]."""

import re
from collections import defaultdict
from collections.abc import Iterable

from submitit.slurm.slurm import SlurmParseException, _parse_node_list


def spell(tasks: Iterable[int]) -> str:
    """0, 1, 2, 5 as 0-2,5."""
    parts: list[list[int]] = []
    for task in sorted(set(tasks)):
        if parts and parts[-1][1] == task - 1:
            parts[-1][1] = task
        else:
            parts.append([task, task])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def tasks_in(text: str) -> set[int]:
    """The tasks that Slurm means by 7, 0-2,5 or 1-9:2%4 (after % how many may run at once); none by other words."""
    tasks: set[int] = set()
    for part in text.partition("%")[0].split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
        if not match:
            return set()
        first, last, step = (int(number) if number else None for number in match.groups())
        assert first is not None
        tasks.update(range(first, (first if last is None else last) + 1, step or 1))
    return tasks


def gather(job_ids: Iterable[str]) -> list[str]:
    """The same jobs in fewer words, those of one array together: a command asks the controller once for each word."""
    arrays: dict[str, list[int]] = defaultdict(list)
    single = []
    for job_id in job_ids:
        base, _, task = job_id.partition("_")
        if task.isdigit():
            arrays[base].append(int(task))
        else:
            single.append(job_id)
    return single + [f"{base}_[{spell(tasks)}]" for base, tasks in arrays.items()]


def base_of(job_id: str) -> str:
    """The array's own id, or the job's; of a part of a heterogeneous job (77+1) the whole one's."""
    return re.split("[_+]", job_id, maxsplit=1)[0]


def hosts_in(text: str) -> list[str]:
    """The hosts that Slurm means by gpu[1-3,7],knl2; none by other words ("None assigned", "(null)")."""
    if not text or " " in text or "(" in text:
        return []
    try:
        return list(_parse_node_list(text))
    except SlurmParseException:
        return []
