/** The page of what is deleted and can be restored, with the moment until which it can. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { body, client, errorText } from "@/shared/api/client";
import { useNow } from "@/shared/api/clock";
import { keys } from "@/shared/api/keys";
import type { DeletionView } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { formatAge, formatClock, formatMoment } from "@/shared/format/time";
import { useRestore } from "@/shared/lifecycle/deletions";
import { EmptyState } from "@/shared/messages/EmptyState";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { PageHeader, useTitle } from "@/shared/page/PageHeader";
import { ScrollRegion } from "@/shared/page/ScrollRegion";

export function DeletionsPage() {
  useTitle("Deleted");
  const { data, error, hasNextPage, fetchNextPage } = useDeletions();
  const restore = useRestore();
  if (!data) return <QueryStatus error={error} />;
  const items = data.pages.flatMap((page) => page.items);
  return (
    <>
      <PageHeader
        title="Deleted"
        description="Experiments and runs whose deletion can be undone. After the time their files are removed."
      />
      {restore.error && <p role="alert">Nothing was restored: {errorText(restore.error)}</p>}
      {items.length ? (
        <DeletionTable
          items={items}
          busy={restore.isPending}
          onRestore={(item) => {
            restore.mutate([{ kind: item.kind, id: item.id }]);
          }}
        />
      ) : (
        <EmptyState title="Nothing is deleted that could be restored" />
      )}
      {hasNextPage && (
        <button className="button" onClick={() => void fetchNextPage()}>
          Show earlier deletions
        </button>
      )}
    </>
  );
}

interface TableProps {
  items: DeletionView[];
  busy: boolean;
  onRestore: (item: DeletionView) => void;
}

function DeletionTable({ items, busy, onRestore }: TableProps) {
  const now = useNow(10_000);
  return (
    <ScrollRegion className="scroll panel" label="Deletions">
      <table>
        <thead>
          <tr>
            <th scope="col">Deleted</th>
            <th scope="col">Experiment</th>
            <th scope="col">When</th>
            <th scope="col">Restorable until</th>
            <th scope="col">
              <span className="visually-hidden">Restore</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={`${item.kind} ${item.id}`}>
              <td>{nameOf(item)}</td>
              <td>{item.name}</td>
              <td>{formatAge(item.deleted_at, now)}</td>
              <td title={formatMoment(item.restorable_until)}>{formatClock(item.restorable_until, now)}</td>
              <td>
                <button
                  className="button"
                  disabled={busy}
                  aria-label={`Restore ${item.kind} ${item.id}`}
                  onClick={() => {
                    onRestore(item);
                  }}
                >
                  Restore
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function nameOf({ kind, id, runs }: DeletionView): string {
  return kind === "run" ? `run ${id}` : `experiment ${id} with ${pluralize(runs, "run")}`;
}

/** GET /deletions: what is deleted and can be restored. */
function useDeletions() {
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
