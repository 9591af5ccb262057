/** GET /clusters: what every cluster last said of itself. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { pace } from "@/shared/api/polling";

export function useClusters() {
  return useQuery({
    queryKey: ["clusters"],
    queryFn: ({ signal }) => body(client.GET("/api/v1/clusters", { signal })),
    refetchInterval: pace(false), // the scheduler itself asks no oftener
  });
}
