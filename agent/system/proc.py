"""What Linux counts in /proc: the busy share of the processors, used memory, bytes of disks and of the network."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import NamedTuple

SECTOR_BYTES = 512  # of /proc/diskstats, whatever the disk has


class Counters(NamedTuple):
    """What has been counted since the start of the node; a rate is a difference over a time."""

    at: float
    busy: float  # of all processors, in ticks
    ticks: float
    disk_read: float  # bytes
    disk_written: float
    net_received: float
    net_sent: float


def read_counters(proc: str = "/proc", block: str = "/sys/block") -> Counters:
    """Return the counters of this moment; raise OSError or ValueError where there are none."""
    busy, ticks = _processors(proc)
    read, written = _disks(proc, block)
    received, sent = _network(proc)
    return Counters(time.monotonic(), busy, ticks, read, written, received, sent)


def rates(before: Counters, after: Counters) -> dict[str, float]:
    """Return the busy share of the processors, 0 to 1, and the bytes a second of disks and network."""
    seconds = after.at - before.at
    if seconds <= 0:
        return {}
    ticks = after.ticks - before.ticks
    found = {"cpu": (after.busy - before.busy) / ticks} if ticks > 0 else {}
    for name in ("disk_read", "disk_written", "net_received", "net_sent"):
        found[f"{name}_bytes_per_s"] = max(0.0, getattr(after, name) - getattr(before, name)) / seconds
    return found


def used_memory(proc: str = "/proc") -> dict[str, float]:
    """Return the bytes of memory that new processes could not get."""
    fields = {}
    for line in _lines(f"{proc}/meminfo"):
        name, _, value = line.partition(":")
        if name in ("MemTotal", "MemAvailable"):
            fields[name] = 1024.0 * float(value.split()[0])
    return {"memory_bytes": fields["MemTotal"] - fields["MemAvailable"]} if len(fields) == 2 else {}


def _processors(proc: str) -> tuple[float, float]:
    user, nice, system, idle, iowait, *more = map(float, _lines(f"{proc}/stat")[0].split()[1:8])
    busy = user + nice + system + sum(more)
    return busy, busy + idle + iowait


def _disks(proc: str, block: str) -> tuple[float, float]:
    """Sum over whole disks: a partition counts for its disk, and a loop or a mapper for those below it."""
    disks = set()
    with suppress(OSError):  # a container may lack /sys
        disks = {name for name in os.listdir(block) if os.path.exists(f"{block}/{name}/device")}
    read = written = 0.0
    with suppress(OSError):
        for line in _lines(f"{proc}/diskstats"):
            fields = line.split()
            if len(fields) > 9 and fields[2] in disks:
                read += SECTOR_BYTES * float(fields[5])
                written += SECTOR_BYTES * float(fields[9])
    return read, written


def _network(proc: str) -> tuple[float, float]:
    received = sent = 0.0
    with suppress(OSError):
        for line in _lines(f"{proc}/net/dev")[2:]:
            name, _, counts = line.partition(":")
            fields = counts.split()
            if name.strip() != "lo" and len(fields) > 8:
                received += float(fields[0])
                sent += float(fields[8])
    return received, sent


def _lines(path: str) -> list[str]:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read().splitlines()
