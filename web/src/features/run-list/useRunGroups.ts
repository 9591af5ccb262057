/** GET /runs/groups: the runs of a query in groups of equal values. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

export const MOST_GROUPS = 500; // of one answer

export interface AskedGroups {
  where: string;
  q: string;
  archived: boolean;
  by: string[];
  figures: string[];
  sort: string;
}

const NOTHING: AskedGroups = { where: "", q: "", archived: false, by: [], figures: [], sort: "" };

/** Return the groups; null asks for none. */
export function useRunGroups(asked: AskedGroups | null, every: number | false) {
  const { where, q, archived, by, figures, sort } = asked ?? NOTHING;
  const query = {
    ...(where.trim() && { where }),
    ...(q.trim() && { q: q.trim() }),
    ...(archived && { archived }),
    ...(sort && { sort }),
    by,
    figure: figures,
    limit: MOST_GROUPS,
  };
  return useQuery({
    queryKey: keys.runGroups(asked ?? NOTHING),
    queryFn: ({ signal }) => body(client.GET("/api/v1/runs/groups", { params: { query }, signal })),
    enabled: asked !== null,
    placeholderData: keepPreviousData,
    refetchInterval: every,
    retry: false,
  });
}
