/** The number of jobs in a queue, in which one entry stands for all waiting tasks of an array. */
import type { ClusterView } from "@/shared/api/types";

type Queue = NonNullable<ClusterView["report"]>["queue"];

export function countJobs(queue: Queue): number {
  return queue.reduce((sum, job) => sum + job.tasks, 0);
}
