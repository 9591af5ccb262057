"""The launch tick sees a run that is added while it goes on."""

import threading
import time

from contract.lifecycle.state import State
from scheduler.context import Site
from scheduler.ticks.launch import launch_promptly
from store import runs
from store.session import transaction
from tests.conftest import Experiment
from tests.scheduler.conftest import Puppet, states


def test_a_run_that_comes_while_the_tick_goes_on_is_launched_by_it(
    site: Site, puppet: Puppet, experiment: Experiment
) -> None:
    """A run that is stored a tenth of a second after the tick has begun, and found nothing."""

    def post() -> None:
        with transaction(site.engine) as db:
            runs.create(db, experiment())

    poster = threading.Timer(0.1, post)
    poster.start()
    began = time.monotonic()
    while time.monotonic() - began < 30 and not puppet.jobs:  # a busy machine may store it after the tick's end
        launch_promptly(site)
    poster.join()
    assert states(site) == [State.PENDING]
    assert len(puppet.jobs) == 1
