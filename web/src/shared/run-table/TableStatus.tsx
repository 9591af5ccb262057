/** The line below the table of runs: how many runs the query finds, or why there are none. */
import { pluralize } from "@/shared/format/number";
import { errorText } from "@/shared/messages/errorText";
import type { RunTableData } from "./api/useRunTable";
import styles from "./RunTable.module.css";

export function TableStatus({ data }: { data: RunTableData }) {
  return (
    <p className={styles.tableStatus} role="status">
      {statusText(data)}
    </p>
  );
}

function statusText({ total, error, isFetching }: RunTableData): string {
  if (error) return total === null ? "The runs cannot be shown." : `The rows are old: ${errorText(error)}.`;
  if (isFetching || total === null) return "Loading …";
  return total ? pluralize(total, "run") : "No run matches.";
}
