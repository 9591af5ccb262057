"""python -m benchmarks.volume: see benchmark.py."""

from benchmarks.volume.benchmark import main

if __name__ == "__main__":
    main()
