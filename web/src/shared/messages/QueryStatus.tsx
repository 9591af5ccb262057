/** The place of data that has not arrived: empty while the query loads, the service's message when it refuses. */
import { ApiError } from "@/shared/api/client";
import { EmptyState } from "./EmptyState";
import styles from "./QueryStatus.module.css";

interface Props {
  error: Error | null;
}

export function QueryStatus({ error }: Props) {
  if (error instanceof ApiError && error.status < 500)
    return <EmptyState title={capitalize(error.message)} />;
  return (
    <div className={styles.loading} aria-busy="true">
      <span className="visually-hidden">loading</span>
    </div>
  );
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
