/** GET /experiments: a page of experiments, newest first. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { pollInterval } from "@/shared/api/polling";
import { hasEnded } from "@/shared/state/state";

const PER_PAGE = 20;

export function useExperiments(before: number | undefined) {
  return useQuery({
    queryKey: keys.experimentList(before),
    queryFn: ({ signal }) => {
      const params = { query: before === undefined ? { limit: PER_PAGE } : { before, limit: PER_PAGE } };
      return body(client.GET("/api/v1/experiments", { params, signal }));
    },
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      pollInterval(state.data?.items.some((item) => !hasEnded(item.state)) ?? false),
  });
}
