"""The commands of sweeps that learn."""
