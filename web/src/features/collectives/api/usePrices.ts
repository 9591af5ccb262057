/** GET /collectives/price: what every collective costs on the network that was described. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import type { Network } from "@/features/collectives/network/useNetwork";

export function usePrices(network: Network) {
  return useQuery({
    queryKey: ["prices", network],
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/collectives/price", { params: { query: network }, signal })),
    placeholderData: keepPreviousData,
    staleTime: Infinity, // a calculation: the same question has the same answer
    retry: false,
  });
}
