/** GET /experiments: one page of the list, newest first. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { pace } from "@/shared/api/polling";
import { hasEnded } from "@/shared/state/state";

const PER_PAGE = 20;

export function useExperiments(before: number | undefined) {
  return useQuery({
    queryKey: ["experiments", before ?? "newest"],
    queryFn: ({ signal }) => {
      const params = { query: before === undefined ? { limit: PER_PAGE } : { before, limit: PER_PAGE } };
      return body(client.GET("/api/v1/experiments", { params, signal }));
    },
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => pace(state.data?.items.some((item) => !hasEnded(item.state)) ?? false),
  });
}
