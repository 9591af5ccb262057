/** The place of data that has not arrived: the reason when the query fails, and a text when it takes long. */
import { Link } from "wouter";
import { ApiError } from "@/shared/api/client";
import { EmptyState } from "./EmptyState";
import { errorText } from "./errorText";
import { Loading } from "./Loading";
import { SignInButton } from "./SignInButton";

interface Props {
  error: Error | null;
}

export function QueryStatus({ error }: Props) {
  if (!error) return <Loading />;
  return (
    <EmptyState title={capitalize(errorText(error))}>
      <Advice status={error instanceof ApiError ? error.status : 0} />
    </EmptyState>
  );
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function Advice({ status }: { status: number }) {
  if (status === 401) return <SignInButton />;
  if (status === 404) return <Link href="/">All experiments</Link>;
  if (status >= 400 && status < 500) return null;
  return <p className="muted">The page asks again every few seconds.</p>;
}
