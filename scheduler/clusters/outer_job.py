"""The variables of a job within which the service runs: a service may be started on a node that Slurm has allocated.

A local run is no part of that job. Libraries such as Lightning, Open MPI and torch read ranks and hosts from these
variables, and would find those of the outer job.
"""

OF_A_JOB = ("SLURM_", "SLURMD_", "PMI_", "PMIX_", "OMPI_", "PRTE_")
OF_A_USER = ("SLURM_CONF", "OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_")  # connections and settings, which hold everywhere


def is_of_outer_job(variable: str) -> bool:
    """Return whether Slurm or MPI set a variable for one job, by the beginning of its name."""
    return variable.startswith(OF_A_JOB) and not variable.startswith(OF_A_USER)
