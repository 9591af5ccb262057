"""Which lab of several on one machine this is: BIGBATCH_LAB_NUMBER, 0 where nothing is said.

Every number has a network, ports, host names and a state folder of its own, so that two labs do not know of each other.
"""

import os

NUMBER = int(os.environ.get("BIGBATCH_LAB_NUMBER") or 0)
assert 0 <= NUMBER < 100, f"a lab's number is 0 to 99, not {NUMBER}"
SUFFIX = str(NUMBER or "")
PORTS_UP = 10 * NUMBER  # how far its ports lie above those of number 0
HOST_SUFFIX = f"n{NUMBER}" if NUMBER else ""
