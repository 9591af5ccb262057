"""Event files of TensorBoard for each run, as an option of the service (docs/decisions/0057)."""
