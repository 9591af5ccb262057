/** The addresses of saved views. */
import type { SavedView } from "@/shared/api/types";

type ViewPage = SavedView["page"];

const PATHS: Record<ViewPage, string> = { experiments: "/", runs: "/runs", compare: "/compare" };

/** Return the address of what a view shows. */
export function shownAddress({ page, query }: Pick<SavedView, "page" | "query">): string {
  return query ? `${PATHS[page]}?${query}` : PATHS[page];
}

/** Return the lasting address of a view: it shows what the view shows at the time. */
export function viewAddress(id: number): string {
  return `/views/${id}`;
}
