/** GET /deletions: what is deleted and can be restored. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

export function useDeletions() {
  return useInfiniteQuery({
    queryKey: keys.deletions(),
    queryFn: ({ pageParam, signal }) => {
      const query = { limit: 100, ...(pageParam !== null && { after: pageParam }) };
      return body(client.GET("/api/v1/deletions", { params: { query }, signal }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
}
