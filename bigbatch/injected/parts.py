"""The parts of a step's time, under the names of the engine's series (contract/metric_names.py)."""

COMPUTE_S, UPDATE_S, COMMUNICATION_S, INPUT_S, IDLE_S = "compute_s", "update_s", "communication_s", "input_s", "idle_s"
TIME_PARTS = (COMPUTE_S, UPDATE_S, COMMUNICATION_S, INPUT_S, IDLE_S)
MEASURED_PARTS = TIME_PARTS[:-1]  # by one rank alone; communication contains the idle time
SLOWEST_RANK = "slowest_rank"
