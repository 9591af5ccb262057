"""Learning-rate schedules as functions of the epoch."""
