/** GET /collectives/plan: a collective's sends, round by round. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { figuresOf, type Collective } from "@/features/collectives/names";
import type { Network } from "@/features/collectives/network/useNetwork";

export const MOST_DRAWN = 64;

export function usePlan(collective: Collective | undefined, { hosts, ranks_per_host }: Network) {
  return useQuery({
    queryKey: ["plan", collective, hosts, ranks_per_host],
    queryFn: ({ signal }) => {
      const figures = collective ? figuresOf(collective) : {};
      const query = { ...figures, kind: collective?.kind ?? "ring", hosts, ranks_per_host };
      return body(client.GET("/api/v1/collectives/plan", { params: { query }, signal }));
    },
    enabled: collective !== undefined && hosts * ranks_per_host <= MOST_DRAWN,
    staleTime: Infinity,
    retry: false,
  });
}
