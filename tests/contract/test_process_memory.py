"""Memory that threads have freed goes back to the system; each program runs as a process of its own."""

import subprocess
import sys

import pytest

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="glibc is of Linux")
THREADS, SHARE_MB = 8, 24
# each thread in turn makes and frees as much; a small object that stays keeps its heap from becoming smaller
PROGRAM = """
import sys, threading
from contract.process_memory import give_memory_back, share_memory_between_threads

if "share" in sys.argv:
    share_memory_between_threads()
kept = []
barrier = threading.Barrier(THREADS)

def work():
    barrier.wait()
    for turn in range(THREADS):
        barrier.wait()
        if turn == order.index(threading.current_thread()):
            made = [bytes(1000) for _ in range(SHARE_MB * 1000)]
            kept.append(made[-1])
            del made

order = [threading.Thread(target=work) for _ in range(THREADS)]
for thread in order:
    thread.start()
for thread in order:
    thread.join()
if "give" in sys.argv:
    give_memory_back()
print(next(int(line.split()[1]) // 1000 for line in open("/proc/self/status") if line.startswith("VmRSS")))
"""


def memory_mb(*options: str) -> int:
    """Return the resident memory of a process after its threads have freed theirs."""
    program = PROGRAM.replace("THREADS", str(THREADS)).replace("SHARE_MB", str(SHARE_MB))
    done = subprocess.run([sys.executable, "-c", program, *options], capture_output=True, text=True, check=True)
    return int(done.stdout)


@LINUX
def test_threads_share_the_memory_that_others_have_freed_and_give_it_back() -> None:
    """Forces the fault: each of a pool's threads reads megabytes once; the process held as much for each of them."""
    kept, shared, given = memory_mb(), memory_mb("share"), memory_mb("share", "give")
    assert kept - shared > (THREADS - 4) * SHARE_MB
    assert given <= shared
    assert given < kept // 2


def test_the_functions_do_nothing_without_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    from contract import process_memory

    monkeypatch.setattr(process_memory, "_glibc", lambda: None)
    process_memory.share_memory_between_threads()
    process_memory.give_memory_back()
