/** The nodes of a partition that take no job, in Slurm's words: "2 drained", "1 down". */
import type { ClusterView } from "@/shared/api/types";

type Partition = NonNullable<ClusterView["report"]>["partitions"][number];

export function outText({ out_of_service: out }: Partition): string[] {
  return Object.entries(out).map(([word, count]) => `${count} ${word}`);
}
