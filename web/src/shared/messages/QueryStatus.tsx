/** The place of data that has not arrived: the reason when the query fails, and a text when it takes long. */
import { capitalized } from "@/shared/format/value";
import { Link } from "wouter";
import { ApiError } from "@/shared/api/client";
import { classNames } from "@/shared/page/classNames";
import { EmptyState } from "./EmptyState";
import styles from "./QueryStatus.module.css";

interface Props {
  error: Error | null;
}

export function QueryStatus({ error }: Props) {
  if (!error) return <Loading />;
  // The banner shows the reason of an outage.
  if (!(error instanceof ApiError) || error.status >= 500)
    return (
      <EmptyState title="No data yet">
        <p className="muted">The page asks again every few seconds, until the service answers.</p>
      </EmptyState>
    );
  if (error.status === 401)
    return (
      <EmptyState title="Sign in to see this page">
        <SignInButton />
      </EmptyState>
    );
  return (
    <EmptyState title={capitalized(error.message)}>
      {error.status === 404 && <Link href="/">All experiments</Link>}
    </EmptyState>
  );
}

/** The place of data that loads: a text that appears only when the answer takes long. */
export function Loading() {
  return (
    <div className={styles.loading} aria-busy="true">
      <p className="muted">Loading …</p>
    </div>
  );
}

/** A button that opens the sign-in page, which leads back to this page. */
export function SignInButton() {
  return (
    <button
      className={classNames("plain", styles.signIn)}
      onClick={() => {
        // without a session the service answers every page with its sign-in page
        window.location.reload();
      }}
    >
      Sign in
    </button>
  );
}
