"""What the stand-in knows: jobs, settings and the faults that are switched on, all in one SQLite file."""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

SCHEMA = """
CREATE TABLE jobs (
  row INTEGER PRIMARY KEY, id INTEGER, task INTEGER, name TEXT, user TEXT, partition TEXT, nodes INTEGER,
  tasks_per_node INTEGER, cpus_per_task INTEGER, minutes REAL, warns_s REAL, exclude TEXT, output TEXT,
  parallel INTEGER, requeues INTEGER, state TEXT, reason TEXT, code TEXT, hosts TEXT, pid INTEGER, restarts INTEGER,
  submitted REAL, eligible REAL, started REAL, ended REAL, wish TEXT, wished REAL);
CREATE INDEX jobs_id ON jobs (id);
CREATE INDEX jobs_name ON jobs (name);
CREATE INDEX jobs_state ON jobs (state);
CREATE TABLE words (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE faults (command TEXT PRIMARY KEY, fault TEXT, times INTEGER);
CREATE TABLE calls (at REAL, command TEXT, words TEXT);
CREATE TABLE hosts (name TEXT PRIMARY KEY, cpus INTEGER, down INTEGER);
"""
WAITS, RUNS = "PENDING", ("RUNNING", "COMPLETING")
UNDER_WAY = (WAITS, *RUNS)
HELD = "JobHeldUser"  # the reason of one that waits and may not begin


@dataclass(frozen=True)
class Settings:
    """A cluster in a few numbers."""

    hosts: int = 4
    cpus: int = 4  # of each host
    max_array_size: int = 1001
    max_submit: int = 0  # jobs of one user; 0: as many as they like
    min_job_age_s: float = 60.0  # for how long squeue knows a job that has ended
    kill_wait_s: float = 5.0  # from TERM to KILL
    sacct_late_s: float = 0.0  # the accounting knows of a change only so much later
    accounting: int = 1  # 0: there is no slurmdbd
    carried: int = 1  # 0: jobs are rows alone, and run as soon as there is room


class Job(NamedTuple):
    """One job, or one task of an array. An id may be given twice, a row never."""

    row: int
    id: int
    task: int | None
    name: str
    user: str
    partition: str
    nodes: int
    tasks_per_node: int
    cpus_per_task: int
    minutes: float
    warns_s: float  # before the time limit
    exclude: str
    output: str
    parallel: int  # tasks of its array that may run at once; 0: all
    requeues: int
    state: str
    reason: str
    code: str
    hosts: str
    pid: int
    restarts: int
    submitted: float
    eligible: float  # it may not begin before
    started: float
    ended: float
    wish: str  # what is to become of its processes
    wished: float

    @property
    def spelled(self) -> str:
        return str(self.id) if self.task is None else f"{self.id}_{self.task}"


class Stage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.db = sqlite3.connect(self.folder / "slurm.db", timeout=60, isolation_level=None)
        self.db.execute("PRAGMA synchronous=OFF")  # what a power cut does to a stand-in does not matter

    @classmethod
    def make(cls, folder: Path, settings: Settings) -> "Stage":
        """A new cluster without jobs."""
        folder.mkdir(parents=True, exist_ok=True)
        stage = cls(folder)
        stage.db.executescript(f"PRAGMA journal_mode=WAL;{SCHEMA}")
        for name, value in {**asdict(settings), "next_id": 1}.items():
            stage.set(name, value)
        # an address of this machine's own is a name that resolves
        hosts = [(f"127.0.1.{number + 1}", settings.cpus) for number in range(settings.hosts)]
        stage.db.executemany("INSERT INTO hosts VALUES (?, ?, 0)", hosts)
        return stage

    @contextmanager
    def alone(self) -> Iterator[None]:
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def set(self, name: str, value: object) -> None:
        self.db.execute("INSERT OR REPLACE INTO words VALUES (?, ?)", (name, str(value)))

    def number(self, name: str) -> float:
        (value,) = self.db.execute("SELECT value FROM words WHERE name = ?", (name,)).fetchone()
        return float(value)

    def real(self) -> str:
        """Where the real commands lie, if the stand-in only adds faults to them."""
        found = self.db.execute("SELECT value FROM words WHERE name = 'real'").fetchone()
        return str(found[0]) if found else ""

    def jobs(self, where: str = "1", *values: object) -> list[Job]:
        columns = ", ".join(Job._fields)
        return [Job(*row) for row in self.db.execute(f"SELECT {columns} FROM jobs WHERE {where} ORDER BY row", values)]

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """New jobs; what is not said is nothing."""
        empty: dict[str, Any] = {
            **dict.fromkeys(("reason", "code", "hosts", "wish"), ""),
            **dict.fromkeys(("pid", "restarts", "eligible", "started", "ended", "wished"), 0),
        }
        names = [name for name in Job._fields if name != "row"]
        into = f"INSERT INTO jobs ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"
        self.db.executemany(into, [{**empty, "task": None, **row} for row in rows])

    def change(self, job: Job, **columns: object) -> None:
        words = ", ".join(f"{name} = ?" for name in columns)
        self.db.execute(f"UPDATE jobs SET {words} WHERE row = ?", (*columns.values(), job.row))

    def end(self, job: Job, state: str, code: str = "0:0") -> None:
        reason = "NonZeroExitCode" if state == "FAILED" and code.endswith(":0") else "None"
        self.change(job, state=state, code=code, ended=time.time(), wish="", reason=reason)

    def switch(self, command: str, fault: str | None, times: int = 0) -> None:
        """Give a command a fault, for so many calls or until it is switched off with None."""
        self.db.execute("DELETE FROM faults WHERE command = ?", (command,))
        if fault:
            self.db.execute("INSERT INTO faults VALUES (?, ?, ?)", (command, fault, times))

    def fault(self, command: str) -> tuple[str, float]:
        """The fault of this call and its number, as in `slow=3`; nothing when there is none."""
        with self.alone():
            found = self.db.execute("SELECT fault, times FROM faults WHERE command = ?", (command,)).fetchone()
            if not found:
                return "", 0.0
            fault, times = found
            if times == 1:
                self.db.execute("DELETE FROM faults WHERE command = ?", (command,))
            elif times:
                self.db.execute("UPDATE faults SET times = times - 1 WHERE command = ?", (command,))
        name, _, value = fault.partition("=")
        return name, float(value or 0)

    def has_fault(self, command: str) -> bool:
        return self.db.execute("SELECT 1 FROM faults WHERE command = ?", (command,)).fetchone() is not None

    def note(self, command: str, words: Sequence[str]) -> None:
        self.db.execute("INSERT INTO calls VALUES (?, ?, ?)", (time.time(), command, " ".join(words)))

    def calls(self, command: str) -> int:
        return int(self.db.execute("SELECT count(*) FROM calls WHERE command = ?", (command,)).fetchone()[0])

    def place_of(self, job: Job) -> Path:
        """Where the job's script and environment lie: one place for all tasks of an array."""
        return self.folder / "jobs" / f"{job.id}-{job.submitted:.6f}"


def user() -> str:
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (KeyError, ImportError):
        return str(os.getuid())
