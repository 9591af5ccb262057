/** GET /collectives/price: the price of each collective on a network. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { Network } from "../network/useNetwork";

export function usePrices(network: Network) {
  return useQuery({
    queryKey: keys.collectivePrices(network),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/collectives/price", { params: { query: network }, signal })),
    placeholderData: keepPreviousData,
    staleTime: Infinity, // the prices depend on the network only
    retry: false,
  });
}
