/** The last report of each cluster, and its parts in words. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { pollInterval } from "@/shared/api/polling";
import type { ClusterView } from "@/shared/api/types";

/** GET /clusters: the last report of each cluster. */
export function useClusters() {
  return useQuery({
    queryKey: keys.clusters(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/clusters", { signal })),
    refetchInterval: pollInterval(false), // the scheduler does not poll its clusters more often
  });
}

/** The names of the kinds of clusters that the pages show. */
const NAMES: Record<string, string> = { local: "This machine", slurm: "Slurm" };

export function clusterName(kind: string): string {
  return NAMES[kind] ?? kind;
}

type Queue = NonNullable<ClusterView["report"]>["queue"];

/** The number of jobs in a queue, in which one entry stands for all waiting tasks of an array. */
export function countJobs(queue: Queue): number {
  return queue.reduce((sum, job) => sum + job.tasks, 0);
}

type Partition = NonNullable<ClusterView["report"]>["partitions"][number];

/** The nodes of a partition that take no job, in Slurm's words: "2 drained", "1 down". */
export function outText({ out_of_service: out }: Partition): string[] {
  return Object.entries(out).map(([word, count]) => `${count} ${word}`);
}
