/** The list of reports, the newest change first, and a line that begins one. */
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { formatAge } from "@/shared/format/time";
import { pluralize } from "@/shared/format/number";
import { EmptyState } from "@/shared/messages/EmptyState";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { PageHeader, useTitle } from "@/shared/page/PageHeader";
import { useNow } from "@/shared/api/clock";
import { useNewReport, useReports } from "@/shared/reports/useReports";
import styles from "./ReportsPage.module.css";

export function ReportsPage() {
  useTitle("Reports");
  const { data, error } = useReports();
  const now = useNow(10_000);
  if (!data) return <QueryStatus error={error} />;
  return (
    <>
      <PageHeader
        title="Reports"
        description="Chosen runs, text, and pictures with their data, which stay as they are when a page changes."
      />
      <NewReport />
      {data.reports.length ? (
        <ul className={styles.reportList}>
          {data.reports.map(({ id, title, owner, blocks, updated_at }) => (
            <li key={id}>
              <Link href={`/reports/${id}`} className={styles.reportLink ?? ""}>
                {title}
              </Link>
              <span className="muted small">
                {[owner, pluralize(blocks, "part"), formatAge(updated_at, now)].filter(Boolean).join(", ")}
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <EmptyState title="There is no report yet">
          <p className="muted">
            “Add to report” on the answer of an experiment, on a panel of a comparison and on a run’s page
            puts what is shown into one.
          </p>
        </EmptyState>
      )}
    </>
  );
}

function NewReport() {
  const [title, setTitle] = useState("");
  const [, navigate] = useLocation();
  const begin = useNewReport();
  return (
    <form
      className={styles.newReport}
      onSubmit={(event) => {
        event.preventDefault();
        if (!title.trim()) return;
        begin.mutate(title.trim(), {
          onSuccess: ({ id }) => {
            navigate(`/reports/${id}`);
          },
        });
      }}
    >
      <input
        className="textInput"
        aria-label="Title of a new report"
        placeholder="Title of a new report"
        value={title}
        onChange={(event) => {
          setTitle(event.target.value);
        }}
      />
      <button className="button primary" disabled={!title.trim() || begin.isPending}>
        New report
      </button>
      {begin.error && <p role="alert">The report was not stored: {begin.error.message}</p>}
    </form>
  );
}
