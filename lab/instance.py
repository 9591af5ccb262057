"""The number of this lab: BIGBATCH_LAB_NUMBER, by default 0.

Each number has its own network, ports, host names and state folder, so several labs can run on one machine.
"""

import os

NUMBER = int(os.environ.get("BIGBATCH_LAB_NUMBER") or 0)
assert 0 <= NUMBER < 100, f"BIGBATCH_LAB_NUMBER is {NUMBER}; it must be from 0 to 99"
SUFFIX = str(NUMBER or "")
PORT_OFFSET = 10 * NUMBER  # relative to the ports of lab 0
HOST_SUFFIX = f"n{NUMBER}" if NUMBER else ""
