/** GET /collectives/price: the price of each collective on a network. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { Network } from "../network/useNetwork";
import type { Operation } from "../operation/operations";

export function usePrices(network: Network, operation: Operation) {
  const query = { ...network, operation };
  return useQuery({
    queryKey: keys.collectivePrices(query),
    queryFn: ({ signal }) => body(client.GET("/api/v1/collectives/price", { params: { query }, signal })),
    placeholderData: keepPreviousData,
    staleTime: Infinity, // the prices depend on the query only
    retry: false,
  });
}
