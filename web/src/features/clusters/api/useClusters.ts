/** GET /clusters: the last report of each cluster. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { pollInterval } from "@/shared/api/polling";

export function useClusters() {
  return useQuery({
    queryKey: keys.clusters(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/clusters", { signal })),
    refetchInterval: pollInterval(false), // the scheduler does not poll its clusters more often
  });
}
