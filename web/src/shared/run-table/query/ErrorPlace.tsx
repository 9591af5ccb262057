/** The error of a query below its field: the text with its wrong part marked, and what was expected there. */
import type { ApiError } from "@/shared/api/client";
import styles from "./QueryField.module.css";

export function ErrorPlace({ query, error }: { query: string; error: ApiError }) {
  const issue = error.fields.find(({ path }) => path === "where");
  if (!issue)
    return (
      <p className={styles.queryError} role="alert">
        {error.message}
      </p>
    );
  const [start, end] = [issue.start ?? 0, issue.end ?? 0];
  return (
    <p className={styles.queryError} role="alert">
      <code aria-hidden="true">
        {query.slice(0, start)}
        <mark>{query.slice(start, end) || " "}</mark>
        {query.slice(end)}
      </code>
      <span>{issue.message}</span>
    </p>
  );
}
