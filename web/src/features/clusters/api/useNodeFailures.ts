/** GET /clusters/node-failures: the nodes on which attempts failed in the last 30 days. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

const INTERVAL_MS = 60_000; // the service makes the answer once a minute
const MOST_NODES = 200;

export function useNodeFailures() {
  const params = { query: { limit: MOST_NODES } };
  return useQuery({
    queryKey: keys.nodeFailures(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/clusters/node-failures", { params, signal })),
    refetchInterval: INTERVAL_MS,
  });
}
