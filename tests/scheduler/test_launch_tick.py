"""The launch tick submits a run that is created while the tick runs."""

import threading
import time

from contract.lifecycle.state import State
from scheduler.context import Context
from scheduler.ticks.launch import launch
from store.lifecycle import creation
from store.session import transaction
from tests.testing.clusters import Puppet
from tests.testing.runs import states
from tests.testing.specs import Experiment


def test_a_run_that_is_created_during_the_tick_is_submitted_by_it(
    context: Context, puppet: Puppet, experiment: Experiment
) -> None:
    """Forces the moment: the run is stored a tenth of a second after the tick has started and found no run."""

    def post() -> None:
        with transaction(context.engine) as db:
            creation.create(db, experiment())

    poster = threading.Timer(0.1, post)
    poster.start()
    began = time.monotonic()
    while time.monotonic() - began < 30 and not puppet.jobs:  # a busy machine may store it after the tick's end
        launch(context)
    poster.join()
    assert states(context) == [State.PENDING]
    assert len(puppet.jobs) == 1
