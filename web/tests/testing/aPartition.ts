/** A partition as the report of a Slurm cluster has it. */
import type { components } from "@/shared/api/schema";

type Partition = components["schemas"]["Partition"];

export function aPartition(change: Partial<Partition> = {}): Partition {
  return {
    name: "cpu",
    is_default: true,
    state: "up",
    nodes: 4,
    idle_nodes: 3,
    cpus: 8,
    time_limit: "",
    gres: "",
    whole_nodes: false,
    out_of_service: {},
    ...change,
  };
}
