/** The state of the draft in a few words, and the button that submits it. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { ApiError } from "@/shared/api/client";
import type { Created, ExperimentDraft } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { useCreate } from "@/shared/lifecycle/create";
import styles from "./SubmitBar.module.css";

interface Props {
  text: string;
  draft: UseQueryResult<ExperimentDraft> & { isCurrent: boolean };
  origin?: number | undefined;
  children: ReactNode;
}

export function SubmitBar({ text, draft, origin, children }: Props) {
  const create = useCreate(origin);
  const [, navigate] = useLocation();
  const isReady = draft.isCurrent && draft.data !== undefined && !draft.error;
  const submit = () => {
    create.mutate(text, {
      onSuccess: (made) => {
        if (!made.warnings.length) navigate(`/experiments/${made.id}`);
      },
    });
  };
  return (
    <div className={styles.submitBar}>
      {children}
      <p className="muted" role="status">
        {stateText(draft)}
      </p>
      <button
        type="button"
        className="button primary"
        disabled={!isReady || create.isPending || create.isSuccess}
        onClick={submit}
      >
        {create.isPending ? "Submitting …" : "Submit"}
      </button>
      {create.error && <p role="alert">{create.error.message}</p>}
      <Warnings made={create.data} />
    </div>
  );
}

function stateText({ data, error, isCurrent }: Props["draft"]): string {
  if (!isCurrent) return "Checking …";
  if (error instanceof ApiError && error.fields.length) return pluralize(error.fields.length, "error");
  if (error) return "The spec cannot be read";
  return data ? `Valid: ${pluralize(data.runs.length, "run")}` : "";
}

function Warnings({ made }: { made: Created | undefined }) {
  if (!made?.warnings.length) return null;
  return (
    <div role="alert">
      <p>
        <Link href={`/experiments/${made.id}`}>Experiment {made.id}</Link> is submitted, with warnings:
      </p>
      <ul>
        {made.warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </div>
  );
}
