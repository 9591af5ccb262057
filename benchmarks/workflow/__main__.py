"""Run the benchmark: `make bench NAME=workflow`."""

from benchmarks.workflow.benchmark import main

if __name__ == "__main__":
    main()
