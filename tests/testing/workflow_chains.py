"""A workflow of 100 steps: a list, a fan-out of 64 over it, and 16 chains of steps that a report joins."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

FAN, LEVELS, CHAINS = 64, 6, 16
LAST = 15  # chains of the last level, so that the steps are 100


@dataclass
class Chains:
    """The workflow; each attempt notes its number in the file of `ledger` that has the name of the run folder."""

    ledger: Path
    sleep_s: float = 6.0
    partition: str = "gpu"

    def document(self) -> dict[str, Any]:
        """Return the experiment."""
        out = "{run_folder}/out.txt"
        lines = f"for i in $(seq {FAN}); do echo line-$i; done > {out}"
        steps = [
            {"name": "list", "base": self._base(lines)},
            {"name": "start", "base": self._base(f"echo start > {out}")},
            {
                "name": "fan",
                "base": self._base(f"echo {{x}} > {out}", parameters={"x": ""}),
                "over": {"parameters.x": "{steps.list.outputs.out}"},
            },
            {"name": "join", "base": self._base(f"cat {{steps.fan.all.outputs.out}} > {out}")},
        ]
        for level in range(LEVELS):
            for chain in range(_width(level)):
                before = f"s{level - 1}_{chain}" if level else "join" if _is_joined(chain) else "start"
                command = f"(cat {_out_of(before)}; echo s{level}_{chain}) > {out}"
                steps.append({"name": f"s{level}_{chain}", "base": self._base(command)})
        last = " ".join(_out_of(f"s{LEVELS - 1}_{chain}") for chain in range(LAST))
        steps.append({"name": "report", "base": self._base(f"cat {last} | sha256sum > {out}")})
        assert len(steps) == 100
        return {"name": "chains", "steps": steps}

    def _base(self, command: str, **fields: Any) -> dict[str, Any]:
        noted = f"echo $BIGBATCH_ATTEMPT >> {self.ledger}/$(basename {{run_folder}})"
        return {
            "kind": "program",
            "command": f"{noted}; sleep {self.sleep_s}; {command}",
            "launcher": "plain",
            "outputs": {"out": "out.txt"},
            "resources": {"kind": "slurm", "partition": self.partition, "nodes": 1, "ranks_per_node": 1, "minutes": 5},
            "retries": {"failure": 60, "node_failure": 60, "backoff_s": 1, "backoff_most_s": 4},
            **fields,
        }


def expected_report() -> str:
    """Return the text of the report's output."""
    joined = "".join(f"line-{i + 1}\n" for i in range(FAN))
    text = ""
    for chain in range(LAST):
        text += joined if _is_joined(chain) else "start\n"
        text += "".join(f"s{level}_{chain}\n" for level in range(LEVELS))
    return f"{sha256(text.encode()).hexdigest()}  -\n"


def _out_of(step: str) -> str:
    return f"{{steps.{step}.outputs.out}}"


def _width(level: int) -> int:
    return LAST if level == LEVELS - 1 else CHAINS


def _is_joined(chain: int) -> bool:
    return chain < CHAINS // 2
