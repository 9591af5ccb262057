"""The lab's services: Slurm's daemons, munge and MariaDB with their configuration files."""
