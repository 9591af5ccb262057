"""A scheduler that is a puppet: it ends queued runs at once, and falls or resists when PUPPET says so."""

import os
import signal
import sys
import time

from contract.api.cluster_report import ClusterReport
from contract.folder.events import Points
from contract.lifecycle.state import State
from contract.metric_names import HELDOUT_ACCURACY
from contract.settings import Settings
from store import clusters, runs, transitions
from store.metrics import points
from store.session import engine_for, transaction
from store.transitions import Transition

ACCURACY = 0.9125


def work() -> None:
    engine = engine_for(Settings().database_url())
    while True:
        with transaction(engine) as db:
            clusters.store_report(db, "local", ClusterReport(partitions=[], nodes=[], queue=[]), None)
            for run in runs.in_state(db, State.QUEUED):
                points.put(db, run.id, [Points(attempt=1, at=0.0, step=run.steps, values={HELDOUT_ACCURACY: ACCURACY})])
                for state in (State.SUBMITTING, State.PENDING):
                    transitions.apply(db, run, None, Transition(state))
                run.step, run.latest = run.steps, {HELDOUT_ACCURACY: ACCURACY}
                transitions.apply(db, run, None, Transition(State.DONE))
        time.sleep(0.2)


match sys.argv[1:], os.environ.get("PUPPET", ""):
    case ["worker"], "falls":
        sys.exit("the worker cannot find its feet")
    case ["worker"], "resists":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        work()
    case ["worker"], _:
        work()
    case ["clock"], _:
        time.sleep(3600)
    case ["close"], _:
        (Settings().home_folder() / "closed").touch()
