/** GET, POST and PATCH of /views: what pages show, by names; and the addresses of views. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { components } from "@/shared/api/schema";
import type { SavedView } from "@/shared/api/types";

export type ViewPage = SavedView["page"];

const NONE: SavedView[] = [];

/** Return the saved views of all pages. */
export function useViews(): { views: SavedView[]; error: Error | null } {
  const { data, error } = useQuery({
    queryKey: keys.views(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/views", { signal })),
  });
  return { views: data?.views ?? NONE, error };
}

export function useView(id: number) {
  return useQuery({
    queryKey: keys.view(id),
    queryFn: ({ signal }) =>
      body(client.GET("/api/v1/views/{view_id}", { params: { path: { view_id: id } }, signal })),
  });
}

export function useSaveView() {
  return useViewMutation((view: { name: string; page: ViewPage; query: string }) =>
    body(client.POST("/api/v1/views", { body: view })),
  );
}

export interface ViewChange {
  id: number;
  name?: string;
  query?: string;
  deleted?: boolean;
}

/** A field that the change lacks stays as it is. */
export function useChangeView() {
  return useViewMutation(({ id, ...change }: ViewChange) => {
    const params = { path: { view_id: id } };
    const sent = change as components["schemas"]["ViewChange"];
    return body(client.PATCH("/api/v1/views/{view_id}", { params, body: sent }));
  });
}

function useViewMutation<T>(send: (request: T) => Promise<SavedView>) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.views() }),
  });
}

const PATHS: Record<ViewPage, string> = { experiments: "/", runs: "/runs", compare: "/compare" };

/** Return the address of what a view shows. */
export function shownAddress({ page, query }: Pick<SavedView, "page" | "query">): string {
  return query ? `${PATHS[page]}?${query}` : PATHS[page];
}

/** Return the lasting address of a view: it shows what the view shows at the time. */
export function viewAddress(id: number): string {
  return `/views/${id}`;
}
