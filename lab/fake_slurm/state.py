"""The state of the fake cluster in one SQLite file: settings, hosts, jobs, injected faults and calls."""

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
  tasks_per_node INTEGER, cpus_per_task INTEGER, minutes REAL, warn_before_s REAL, exclude TEXT, output TEXT,
  max_running_tasks INTEGER, requeue INTEGER, state TEXT, reason TEXT, exit_code TEXT, hosts TEXT, pid INTEGER,
  restarts INTEGER, submitted REAL, eligible REAL, started REAL, ended REAL, requested_end TEXT, requested_at REAL);
CREATE INDEX jobs_id ON jobs (id);
CREATE INDEX jobs_name ON jobs (name);
CREATE INDEX jobs_state ON jobs (state);
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE faults (command TEXT PRIMARY KEY, fault TEXT, times INTEGER);
CREATE TABLE calls (at REAL, command TEXT, words TEXT);
CREATE TABLE hosts (name TEXT PRIMARY KEY, cpus INTEGER, down INTEGER);
"""
PENDING, ON_HOSTS = "PENDING", ("RUNNING", "COMPLETING")
ACTIVE = (PENDING, *ON_HOSTS)
HELD = "JobHeldUser"  # the pending reason of a held job


@dataclass(frozen=True)
class Settings:
    """The settings of a cluster."""

    hosts: int = 4
    cpus: int = 4  # of each host
    max_array_size: int = 1001
    max_submit: int = 0  # jobs of one user; 0: unlimited
    min_job_age_s: float = 60.0  # for which squeue shows an ended job
    kill_wait_s: float = 5.0  # from SIGTERM to SIGKILL
    sacct_late_s: float = 0.0  # delay after which the accounting shows a change
    accounting: int = 1  # 0: the cluster has no slurmdbd
    carried: int = 1  # 1: jobs run as processes; 0: jobs are rows only and count as running while CPUs are free


class Job(NamedTuple):
    """One job, or one task of an array; `id` can occur twice, `row` cannot."""

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
    warn_before_s: float  # from the warning signal to the time limit
    exclude: str
    output: str
    max_running_tasks: int  # of its array; 0: unlimited
    requeue: int
    state: str
    reason: str
    exit_code: str
    hosts: str
    pid: int
    restarts: int
    submitted: float
    eligible: float  # earliest start
    started: float
    ended: float
    requested_end: str  # why its processes are being ended; empty if they are not
    requested_at: float

    @property
    def full_id(self) -> str:
        """Return the id as Slurm prints it, such as 77 or 77_3."""
        return str(self.id) if self.task is None else f"{self.id}_{self.task}"


class ClusterState:
    """The state of one fake cluster in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.db = sqlite3.connect(self.folder / "slurm.db", timeout=60, isolation_level=None)
        self.db.execute("PRAGMA synchronous=OFF")  # the state need not survive a power failure

    @classmethod
    def create(cls, folder: Path, settings: Settings) -> "ClusterState":
        """Create a cluster without jobs."""
        folder.mkdir(parents=True, exist_ok=True)
        cluster = cls(folder)
        cluster.db.executescript(f"PRAGMA journal_mode=WAL;{SCHEMA}")
        for name, value in {**asdict(settings), "next_id": 1}.items():
            cluster.set(name, value)
        # A host is named by an address of this machine, because this name resolves.
        hosts = [(f"127.0.1.{number + 1}", settings.cpus) for number in range(settings.hosts)]
        cluster.db.executemany("INSERT INTO hosts VALUES (?, ?, 0)", hosts)
        return cluster

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock of the database; commit at the end, roll back on an error."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def set(self, name: str, value: object) -> None:
        """Store a setting."""
        self.db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, str(value)))

    def get_number(self, name: str) -> float:
        """Return the value of a setting."""
        (value,) = self.db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return float(value)

    def real_commands(self) -> str:
        """Return the folder of the real Slurm's commands, or an empty string if there is no real Slurm."""
        found = self.db.execute("SELECT value FROM settings WHERE name = 'real'").fetchone()
        return str(found[0]) if found else ""

    def jobs(self, where: str = "1", *values: object) -> list[Job]:
        """Return the jobs that match an SQL condition, oldest first."""
        columns = ", ".join(Job._fields)
        return [Job(*row) for row in self.db.execute(f"SELECT {columns} FROM jobs WHERE {where} ORDER BY row", values)]

    def add_jobs(self, rows: Sequence[dict[str, Any]]) -> None:
        """Insert jobs; columns that a row does not contain are empty or 0."""
        empty: dict[str, Any] = {
            **dict.fromkeys(("reason", "exit_code", "hosts", "requested_end"), ""),
            **dict.fromkeys(("pid", "restarts", "eligible", "started", "ended", "requested_at"), 0),
        }
        names = [name for name in Job._fields if name != "row"]
        into = f"INSERT INTO jobs ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"
        self.db.executemany(into, [{**empty, "task": None, **row} for row in rows])

    def update(self, job: Job, **columns: object) -> None:
        """Change columns of a job."""
        words = ", ".join(f"{name} = ?" for name in columns)
        self.db.execute(f"UPDATE jobs SET {words} WHERE row = ?", (*columns.values(), job.row))

    def end(self, job: Job, state: str, exit_code: str = "0:0") -> None:
        """Set the final state of a job."""
        reason = "NonZeroExitCode" if state == "FAILED" and exit_code.endswith(":0") else "None"
        self.update(job, state=state, exit_code=exit_code, ended=time.time(), requested_end="", reason=reason)

    def set_fault(self, command: str, fault: str | None, times: int = 0) -> None:
        """Inject a fault into the next `times` calls of a command (0: into all); None removes the fault."""
        self.db.execute("DELETE FROM faults WHERE command = ?", (command,))
        if fault:
            self.db.execute("INSERT INTO faults VALUES (?, ?, ?)", (command, fault, times))

    def take_fault(self, command: str) -> tuple[str, float]:
        """Return the fault for this call and its number, as in `slow=3`, and count the call; ("", 0.0) if none."""
        with self.transaction():
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
        """Return whether a fault is injected into the command."""
        return self.db.execute("SELECT 1 FROM faults WHERE command = ?", (command,)).fetchone() is not None

    def record_call(self, command: str, words: Sequence[str]) -> None:
        """Store a call with its time and its words."""
        self.db.execute("INSERT INTO calls VALUES (?, ?, ?)", (time.time(), command, " ".join(words)))

    def count_calls(self, command: str) -> int:
        """Return how often the command was called."""
        return int(self.db.execute("SELECT count(*) FROM calls WHERE command = ?", (command,)).fetchone()[0])

    def job_folder(self, job: Job) -> Path:
        """Return the folder of the job's script and environment, which all tasks of an array share."""
        return self.folder / "jobs" / f"{job.id}-{job.submitted:.6f}"


def current_user() -> str:
    """Return the name of the user who runs this process."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (KeyError, ImportError):
        return str(os.getuid())
