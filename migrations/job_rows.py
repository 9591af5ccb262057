"""Rows of migration 0008: jobs from runs and attempts, and back; reasons from sentences, and back.

The tables of words are those of the versions that stored sentences. They stay as they are when the service's enums get
new members.
"""

import re
from collections.abc import Mapping
from typing import Any

from migrations.old_sentences import ENDS, HOSTS_UNKNOWN, PENDING

Row = Mapping[str, Any]
Json = dict[str, Any]
ENDED = ("done", "failed", "cancelled")
SHUTDOWN = "the service on this machine was shut down"
STOPS = {"user": "stopped on request", "shutdown": SHUTDOWN}
IN_DOUBT = "; whether it has the job is being found out"  # the end of a submitting run's reason
PART_ENDED = "its part of the job ended"
# for a word of Slurm that is not in PENDING
PENDING_OF_KIND = {"held": "held", "quota": "accounting_limit", "reservation": "reservation"}
HELD = ("stopped", "suspended")  # held, besides the reasons that begin with this word


def current_job(row: Row) -> Json:
    """Return the job of a run's newest attempt, from the run joined with the attempt's row, if it has ended."""
    reason, detail = pending_of(row["waits_for"], row["waits_kind"])
    is_closed = row["state"] == "queued" or (row["state"] in ENDED and row["job_id"] is None)
    return {
        "run_id": row["id"],
        "attempt": row["attempt"],
        "name": row["job_name"] or f"bigbatch-{row['key']}-{row['attempt']}",
        "cluster": row["cluster"],
        "array_task": row["task"],
        "pack_member": row["member"],
        "external_id": row["job_id"],
        "lease_renewed_at": row["moved_at"],
        "pending_reason": reason,
        "pending_detail": detail,
        "unknown_since": row["unknown_since"],
        "observed_end": end_of(row["gone_reason"]),
        "observed_cause": row["gone_cause"],
        "observed_at": row["gone_at"],
        "is_gone": bool(row["job_gone"]) or is_closed,
        "reported_cause": row["own_cause"],
        "hosts": row["hosts"] or [],
        "stop_requested_at": row["stop_asked_at"],
        "kill_requested_at": row["stop_forced_at"],
        "ended_at": row["ended_at"],
        "exit_cause": row["cause"],
        "exit_reason": reason_of(row["reason"]),
        "exit_step": row["step"],
    }


def earlier_job(row: Row) -> Json:
    """Return the job of an earlier attempt, from the attempt's row joined with its run."""
    unknown = ("array_task", "pack_member", "pending_reason", "pending_detail", "unknown_since", "observed_end")
    never = ("observed_cause", "observed_at", "reported_cause", "stop_requested_at", "kill_requested_at")
    return {
        **dict.fromkeys((*unknown, *never)),
        "run_id": row["run_id"],
        "attempt": row["number"],
        "name": f"bigbatch-{row['key']}-{row['number']}",
        "cluster": row["cluster"],
        "external_id": row["job_id"],
        "lease_renewed_at": row["ended_at"],
        "is_gone": True,
        "hosts": row["hosts"] or [],
        "ended_at": row["ended_at"],
        "exit_cause": row["cause"],
        "exit_reason": reason_of(row["reason"]),
        "exit_step": row["step"],
    }


def old_columns(job: Row) -> Json:
    """Return the columns of 0007 that a run's current job becomes."""
    pending, kind = pending_text(job["pending_reason"], job["pending_detail"])
    return {
        "job_name": job["name"],
        "task": job["array_task"],
        "member": job["pack_member"],
        "job_id": job["external_id"],
        "job_gone": job["is_gone"],
        "gone_reason": end_text(job["observed_end"]),
        "gone_cause": job["observed_cause"],
        "gone_at": job["observed_at"],
        "own_cause": job["reported_cause"],
        "hosts": job["hosts"],
        "waits_for": pending,
        "waits_kind": kind,
        "stop_asked_at": job["stop_requested_at"],
        "stop_forced_at": job["kill_requested_at"],
        "unknown_since": job["unknown_since"],
    }


def old_attempt(job: Row) -> Json:
    """Return the row of `attempts` that an ended job becomes."""
    return {
        "run_id": job["run_id"],
        "number": job["attempt"],
        "job_id": job["external_id"],
        "ended_at": job["ended_at"] or job["lease_renewed_at"],
        "step": job["exit_step"] or 0,
        "cause": job["exit_cause"],
        "reason": reason_text(job["exit_reason"]),
        "hosts": job["hosts"],
    }


def run_reason(state: str, text: str | None) -> Json | None:
    """Return the reason of a run's state; a submitting run keeps the message that the recover tick needs."""
    if text and state == "submitting" and text.endswith(IN_DOUBT):
        return {"kind": "submission_unconfirmed", "message": text.removesuffix(IN_DOUBT)}
    return reason_of(text)


def reason_of(text: str | None) -> Json | None:
    """Return the reason that stands for a sentence."""
    return {"kind": "text", "text": text} if text else None


def stop_source_of(text: str | None) -> str | None:
    """Return what asked a run to stop."""
    if not text:
        return None
    return "shutdown" if text == SHUTDOWN else "user"


def pending_of(text: str | None, kind: str | None) -> tuple[str | None, str | None]:
    """Return the pending reason and Slurm's word of a sentence like "the job waits for a license (Licenses)"."""
    if not text:
        return None, None
    if text == HOSTS_UNKNOWN:
        return "hosts_unknown", None
    word = re.search(r"\((.*)\)$", text)
    detail = word[1] if word else text.removeprefix("Slurm says: ")
    first = re.split(r"[,(]", detail.replace(" ", "_"))[0]
    return PENDING.get(first) or PENDING_OF_KIND.get(kind or "", "other"), detail


def pending_text(reason: str | None, detail: str | None) -> tuple[str | None, str | None]:
    """Return the sentence that `pending_of` understands, and its kind."""
    if reason is None:
        return None, None
    if reason == "hosts_unknown":
        return HOSTS_UNKNOWN, "other"
    text = f"{reason.replace('_', ' ')} ({detail})" if detail else reason.replace("_", " ")
    if reason.startswith("held") or reason in HELD:
        return text, "held"
    return text, next((kind for kind, general in PENDING_OF_KIND.items() if general == reason), "other")


def end_of(text: str | None) -> Json | None:
    """Return the end of a job that a sentence like "the job failed (NonZeroExitCode)" stands for."""
    if not text:
        return None
    if part := re.fullmatch(rf"{PART_ENDED}(?: with exit code (\d+))?", text):
        return {"kind": "part_exited", "exit_code": int(part[1] or 0)}
    known = re.fullmatch(r"([^(]*?)(?: \((.*)\))?", text)
    if not known or known[1] not in ENDS:
        return {"kind": "other", "detail": text}
    end: Json = {"kind": ENDS[known[1]]} | ({"detail": known[2]} if known[2] else {})
    code = re.fullmatch(r"exit code (\d+):0", known[2] or "")
    return end | ({"exit_code": int(code[1])} if code else {})


def end_text(end: Any) -> str | None:
    """Return the sentence of a job's end that `end_of` understands."""
    if not end:
        return None
    detail, kind = end.get("detail"), str(end["kind"])
    if kind == "part_exited":
        return f"{PART_ENDED} with exit code {end['exit_code']}" if end.get("exit_code") else PART_ENDED
    sentence = next((text for text, known in ENDS.items() if known == kind), None)
    if sentence is None:
        return str(detail or kind.replace("_", " "))
    return f"{sentence} ({detail})" if detail else sentence


def reason_text(reason: Any) -> str | None:
    """Return a sentence with what a reason holds."""
    if not reason:
        return None
    kind, message = str(reason["kind"]), reason.get("message")
    match kind:
        case "text":
            return str(reason["text"])
        case "stop_requested":
            return STOPS[reason.get("source", "user")]
        case "run_paused":
            return f"paused at step {reason['step']}: {message}"
        case "submission_unconfirmed":
            return f"{message}{IN_DOUBT}"
        case "submission_refused":
            return f"{reason['cluster']} refused the job: {message}"
        case "submission_lost":
            return f"its submission was lost: {message}" if message else "its submission was lost"
        case "job_ended":
            return "; ".join(filter(None, [end_text(reason["end"]), reason.get("failure")]))
        case "retried" | "retries_exhausted" | "no_progress":
            number = f", attempt {reason['attempt']}" if "attempt" in reason else ""
            return f"{reason_text(reason['after'])}; {kind.replace('_', ' ')}{number}"
    return str(message or reason.get("error") or kind.replace("_", " "))
