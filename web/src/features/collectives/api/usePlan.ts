/** GET /collectives/plan: the sends of a collective, round by round. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { type Collective, shapeParameters } from "@/shared/format/collectives";
import type { Network } from "../network/useNetwork";
import type { Operation } from "../operation/operations";

export const MAX_DRAWN_RANKS = 64;

export function usePlan(
  collective: Collective | undefined,
  { hosts, ranks_per_host }: Network,
  operation: Operation,
) {
  return useQuery({
    queryKey: keys.collectivePlan(collective, hosts, ranks_per_host, operation),
    queryFn: ({ signal }) => {
      const shape = collective ? shapeParameters(collective) : {};
      const query = { ...shape, kind: collective?.kind ?? "ring", hosts, ranks_per_host, operation };
      return body(client.GET("/api/v1/collectives/plan", { params: { query }, signal }));
    },
    enabled: collective !== undefined && hosts * ranks_per_host <= MAX_DRAWN_RANKS,
    staleTime: Infinity,
    retry: false,
  });
}
