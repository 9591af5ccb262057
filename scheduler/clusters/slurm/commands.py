"""Slurm's commands: every call is counted by the rate limit and has a timeout; answers are parsed without guessing."""

import os
import re
import subprocess
import time
from typing import NamedTuple

from contract.settings import SLURM_TOKEN
from scheduler.clusters.cluster import (
    BackingOffError,
    HostFaultError,
    NoAnswerError,
    RateLimitedError,
    is_passed_to_jobs,
)
from scheduler.clusters.rate_limit import Priority, RateLimit
from scheduler.clusters.slurm.job_locale import with_plain_output

COMMAND_TIMEOUT_S = 20  # while the controller is down, its commands would wait for minutes
SBATCH_TIMEOUT_S = 12  # a submission without an answer is found by its name, so sbatch's own timeout need not pass
TIMEOUT_EXIT_CODE = 124  # of timeout(1)
ACCOUNTING_COMMANDS = ("sacct", "sacctmgr")  # these call slurmdbd, all others the controller
# parts of error messages about munge and credentials: the fault is this host's own, or each host finds it by itself
HOST_FAULT_MESSAGES = ("munge", "authentication", "credential", "auth_g_")
# parts of error messages after which it is not known whether the controller got the request
NO_ANSWER_MESSAGES = (
    *("timed out", "unable to contact", "connection", "no route to host", *HOST_FAULT_MESSAGES),
    *("zero bytes were transmitted", "zero length message", "message receive failure", "message send failure"),
    *("standby mode", "configuration source", "i/o error writing script"),
)


class CommandResult(NamedTuple):
    """What one command returned."""

    exit_code: int
    stdout: str
    message: str  # of stderr, the lines joined by semicolons

    @property
    def is_no_answer(self) -> bool:
        """Return whether the controller gave no answer: the request may have arrived, or not."""
        message = self.message.lower()
        return self.exit_code == TIMEOUT_EXIT_CODE or bool(
            self.exit_code and any(part in message for part in NO_ANSWER_MESSAGES)
        )

    @property
    def is_host_fault(self) -> bool:
        """Return whether this host could not authenticate itself: other hosts may well reach the controller."""
        message = self.message.lower()
        return bool(self.exit_code and any(part in message for part in HOST_FAULT_MESSAGES))


class Commands:
    """Slurm's commands under one rate limit."""

    def __init__(self, rate_limit: RateLimit) -> None:
        self.rate_limit = rate_limit

    def ask(self, *command: str, priority: Priority = Priority.FOLLOW_UP) -> str:
        """Run one of Slurm's commands and return its output.

        Raise RateLimitedError if the command was not called, and NoAnswerError if the command failed.
        """
        result = self.run(*command, priority=priority)
        if result.exit_code == TIMEOUT_EXIT_CODE:
            raise NoAnswerError(f"{command[0]} gave no answer within {COMMAND_TIMEOUT_S} s")
        if result.exit_code:
            raise NoAnswerError(f"{command[0]}: {result.message or f'exit code {result.exit_code}'}")
        return result.stdout

    def run(self, *command: str, priority: Priority, timeout_s: int = COMMAND_TIMEOUT_S) -> CommandResult:
        """Run one of Slurm's commands to its end, or to the timeout.

        Raise RateLimitedError if the rate limit is reached, and BackingOffError if the controller gave no answer a
        moment ago: until the controller answers again, only polls call it. Raise HostFaultError if this host could not
        authenticate itself: for a while this worker leaves all calls to the workers of other hosts.
        """
        calls_controller = command[0] not in ACCOUNTING_COMMANDS
        if self.rate_limit.has_host_fault():
            raise HostFaultError(f"{command[0]} was not called: this host could not authenticate itself a moment ago")
        if calls_controller and priority.backoff_s and self.rate_limit.is_backing_off(priority.backoff_s):
            raise BackingOffError(f"{command[0]} was not called: the controller did not answer a moment ago")
        if not self.rate_limit.acquire(priority):
            raise RateLimitedError(f"{command[0]} was not called: the rate limit of Slurm commands is reached")
        began = time.monotonic()
        try:
            # timeout(1) ends the command even if this process is killed meanwhile
            bounded = ("timeout", str(timeout_s), *command)
            done = subprocess.run(bounded, capture_output=True, text=True, errors="replace", env=command_environment())
        except OSError as error:
            raise NoAnswerError(f"{command[0]}: {error}") from error
        outcome = {0: "ok", TIMEOUT_EXIT_CODE: "timeout"}.get(done.returncode, "failed")
        self.rate_limit.record(command[0], outcome, time.monotonic() - began)
        result = CommandResult(done.returncode, done.stdout, parse_error_message(done.stderr))
        if result.is_host_fault:
            self.rate_limit.record_host_fault()
        elif calls_controller:
            self.rate_limit.record_answer(no_answer=result.is_no_answer)
        return result


def parse_rows(text: str, columns: int) -> list[list[str]]:
    """Split lines at their bars into so many columns; the last column may contain bars. Omit lines with fewer."""
    split = [[field.strip() for field in line.split("|", columns - 1)] for line in text.splitlines()]
    return [row for row in split if len(row) == columns]


def parse_error_message(stderr: str) -> str:
    """Return Slurm's error messages without the command's name at the start of each line."""
    lines = [re.split(r"(?:error|fatal):", line, maxsplit=1)[-1].strip() for line in stderr.splitlines()]
    return "; ".join(line for line in lines if line)


# partitions that are hidden or closed to the user's group, too: without the option their jobs are not listed at all
ALL_PARTITIONS = ("-a",)
_CONNECTION_VARIABLES = ("SLURM_CONF", "SLURM_CONF_SERVER", SLURM_TOKEN)
# variables that change what a command prints (SQUEUE_FORMAT and the like), or override options of a script
_OPTION_PREFIXES = ("SQUEUE_", "SACCT_", "SINFO_", "SCANCEL_", "SBATCH_", "SLURM_", "SRUN_")


def command_environment() -> dict[str, str]:
    """Return the environment of a command: a job inherits sbatch's, so the service's secrets are not in it.

    sbatch itself needs Slurm's token; the script removes the token from the job's environment.
    """
    passed = {name: value for name, value in os.environ.items() if is_passed_to_jobs(name) or name == SLURM_TOKEN}
    plain = {
        name: value
        for name, value in passed.items()
        if not name.startswith(_OPTION_PREFIXES) or name in _CONNECTION_VARIABLES
    }
    return with_plain_output(plain)
