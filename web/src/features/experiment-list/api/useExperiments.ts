/** GET /experiments: a page of experiments, newest first or oldest first. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { Filter } from "../filter";
import { hasEnded } from "@/shared/state/state";

const PER_PAGE = 20;

export function useExperiments(filter: Filter, before: number | undefined) {
  const pollInterval = usePollInterval();
  const { oldest, ...which } = filter;
  const place = { ...(oldest ? { sort: "id" as const } : {}), ...(before === undefined ? {} : { before }) };
  const query = { ...which, ...place, limit: PER_PAGE };
  return useQuery({
    queryKey: keys.experimentList(query),
    queryFn: ({ signal }) => {
      const params = { query };
      return body(client.GET("/api/v1/experiments", { params, signal }));
    },
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      pollInterval(state.data?.items.some((item) => !hasEnded(item.state)) ?? false),
  });
}
