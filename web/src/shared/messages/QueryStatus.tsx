/** The place of data that has not arrived: the reason when the query fails, and a text when it takes long. */
import { Link } from "wouter";
import { ApiError } from "@/shared/api/client";
import { EmptyState } from "./EmptyState";
import { Loading } from "./Loading";
import { SignInButton } from "./SignInButton";

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
    <EmptyState title={capitalize(error.message)}>
      {error.status === 404 && <Link href="/">All experiments</Link>}
    </EmptyState>
  );
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
