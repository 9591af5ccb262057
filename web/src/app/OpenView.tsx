/** The lasting address of a saved view: it leads to what the view shows. */
import { Link, Redirect } from "wouter";
import { EmptyState } from "@/shared/messages/EmptyState";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { shownAddress, useChangeView, useView } from "@/shared/views/views";

export function OpenView({ id }: { id: number }) {
  const { data, error } = useView(id);
  const change = useChangeView();
  if (!data) return <QueryStatus error={error} />;
  if (!data.deleted_at) return <Redirect to={shownAddress(data)} replace />;
  return (
    <EmptyState title={`The view ${data.name} is deleted`}>
      <p>
        <button
          className="button"
          onClick={() => {
            change.mutate({ id, deleted: false });
          }}
        >
          Undo the deletion
        </button>
      </p>
      <Link href="/runs">All runs</Link>
    </EmptyState>
  );
}
