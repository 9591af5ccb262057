/** GET /deletions: what is deleted and can be restored. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

export function useDeletions() {
  return useInfiniteQuery({
    queryKey: keys.deletions(),
    queryFn: ({ pageParam, signal }) =>
      body(client.GET("/api/v1/deletions", { params: { query: { skip: pageParam, limit: 100 } }, signal })),
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next,
  });
}
