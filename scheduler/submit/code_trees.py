"""The trees of code snapshots that the runs of a submission need: made before the cluster is called."""

from collections.abc import Generator, Sequence
from contextlib import closing

from contract.folder.files.disk_errors import is_transient
from contract.lifecycle.reason import CodeUnavailable, FolderNotWritable, Reason
from contract.lifecycle.state import State
from contract.snapshot.blob_store import AbsentError, DamagedError
from contract.snapshot.code_tree import make_tree
from scheduler.context import Context
from scheduler.submit.backoff import next_try
from scheduler.submit.folders import FULL_FOR, Lease, Pair
from store import transitions
from store.session import transaction


def make_code_trees(context: Context, lease: Lease, taken: Sequence[Pair]) -> Generator[float, None, list[Pair]]:
    """Make the trees, a portion of files in a step; return the runs that have theirs, none if the lease is lost."""
    lacking: set[str] = set()
    for code in dict.fromkeys(run.code for run, _ in taken):
        if code is None:
            continue
        try:
            steps_of_tree = make_tree(
                context.blob_store, context.runs_folder, code, context.owners, context.memory.examined
            )
            with closing(steps_of_tree) as steps:
                for _ in steps:
                    context.memory.note_progress("launch")
                    if not lease.renew_if_due():
                        return []
                    yield 0.0
        except (OSError, DamagedError) as error:
            lacking.add(code)
            _put_aside(context, [pair for pair in taken if pair[0].code == code], error)
    return [pair for pair in taken if pair[0].code not in lacking]


def _put_aside(context: Context, pairs: Sequence[Pair], error: OSError | DamagedError) -> None:
    """Queue or fail the runs of a tree that cannot be made, without the other runs of the submission."""
    # a shared file system may show the files of an upload late
    is_deferred = is_transient(error) if isinstance(error, OSError) else isinstance(error, AbsentError)
    for run, _ in pairs:
        reason: Reason = FolderNotWritable(folder="code", error=str(error))
        if isinstance(error, DamagedError):
            reason = CodeUnavailable(code=run.code or "", error=str(error))
        with transaction(context.engine) as db:
            if is_deferred:
                not_before = next_try(db, run, FULL_FOR)
                transitions.apply_if_unchanged(db, run, State.QUEUED, reason, not_before=not_before)
            else:
                transitions.apply_if_unchanged(db, run, State.FAILED, reason)
