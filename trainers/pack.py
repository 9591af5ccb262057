"""`python -m trainers.pack`: the earlier name of `trainers.packed_runs`, for jobs submitted before it was renamed."""

from trainers.packed_runs import main

if __name__ == "__main__":
    main()
