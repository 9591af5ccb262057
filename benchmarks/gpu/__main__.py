"""`python -m benchmarks.gpu [--cpu]`."""

from benchmarks.gpu.benchmark import main

if __name__ == "__main__":
    main()
