"""A Hydra application: a config folder beside the script, outputs by date and time, metrics by logging."""

import logging
import os
import time

import hydra
from omegaconf import DictConfig

log = logging.getLogger(__name__)


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config: DictConfig) -> None:
    first = 0
    if os.path.exists("last_step.txt"):
        with open("last_step.txt") as file:
            first = int(file.read())
        log.info("resumes at step %d", first)
    for step in range(first + 1, config.steps + 1):
        time.sleep(float(os.environ.get("STEP_S", "0")))
        log.info("step %d loss %.4f", step, config.model.width / (config.lr * step))
        with open("last_step.txt", "w") as file:
            file.write(str(step))


main()
