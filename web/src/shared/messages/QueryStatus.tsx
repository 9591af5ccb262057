/** A page or panel that has nothing to show, and why. */
import type { ReactNode } from "react";
import { ApiError } from "@/shared/api/client";
import "@/shared/notice/notice.css";

interface Props {
  title: string;
  children?: ReactNode;
}

export function Notice({ title, children }: Props) {
  return (
    <div className="notice">
      <p className="notice-title">{title}</p>
      {children}
    </div>
  );
}

interface PendingProps {
  error: Error | null;
}

/** In place of data that is not there yet: quiet while it comes, the service's own words when it does not. */
export function Pending({ error }: PendingProps) {
  if (error instanceof ApiError && error.status < 500) return <Notice title={sentence(error.message)} />;
  return (
    <div className="pending" aria-busy="true">
      <span className="visually-hidden">loading</span>
    </div>
  );
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
