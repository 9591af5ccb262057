"""What the clock and the worker share: the ticks' periods and the broker.

The broker is Redis for teams and a folder of files on one machine. The ticks themselves are not imported here: the
clock needs only their names, and is smaller by a fifth without their code.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from celery import Celery
from celery.signals import setup_logging

from contract.private_files import make_private_folder
from contract.service_log import configure_log
from contract.settings import Settings
from scheduler import folder_broker
from scheduler.clock import Activity, Clock
from store.session import engine_for

PERIODS_S: Mapping[str, float] = MappingProxyType(
    {
        "launch": 0.5,
        "reuse": 0.2,  # a workflow that was done before is done within a second
        "ingest": 1.0,
        "plan": 0.5,
        "poll": 2.0,
        "cancel": 1.0,
        "recover": 2.0,
        "refresh_clusters": 5.0,
        "search": 0.5,
        "notify": 1.0,
        "schedule": 2.0,
        "divergence": 5.0,
        "reap": 5.0,
        "prune": 10.0,
        "mirror": 2.0,
        "delete": 10.0,
        "mark": 5.0,
        "tensorboard": 5.0,  # TensorBoard itself looks for new records each five seconds or less often
    }
)


def make_celery(settings: Settings) -> Celery:
    """Return the Celery application for `settings`, with the clock's schedule and without tasks."""
    app = Celery("bigbatch")
    app.conf.update(
        **_broker(settings),
        task_ignore_result=True,
        task_default_queue="bigbatch",
        worker_pool="threads",  # ticks wait for files, databases and commands
        worker_enable_remote_control=False,
        worker_prefetch_multiplier=1,
        broker_connection_retry_on_startup=True,
        # periods alone: nothing is stored on disk
        beat_scheduler=partial(Clock, activity=Activity(lambda: engine_for(settings.database_url()))),
        beat_max_loop_interval=0.5,
        beat_schedule={
            # no `expires`: a worker whose clock is ahead of the beat's host would leave out every tick
            name: {"task": f"bigbatch.{name}", "schedule": period_s}
            for name, period_s in PERIODS_S.items()
        },
    )
    return app


@setup_logging.connect
def write_own_log(**_: object) -> None:
    """Keep Celery from its own log, which has a traceback for each failed tick."""
    configure_log()


def _broker(settings: Settings) -> dict[str, object]:
    if settings.broker:
        return {"broker_url": settings.broker}
    queue, control = settings.home_folder() / "broker", settings.home_folder() / "broker-control"
    for folder in (settings.home_folder(), queue, control):
        make_private_folder(folder)
    options = {
        "data_folder_in": str(queue),
        "data_folder_out": str(queue),
        "control_folder": str(control),
        "polling_interval": 0.1,  # kombu's default is a second; each poll costs 0.6 ms of the processor
    }
    return {"broker_url": folder_broker.URL, "broker_transport_options": options}
