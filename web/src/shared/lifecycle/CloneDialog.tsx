/** The dialog that edits a copy of a spec as text and submits it; each error leads to the line of its field. */
import { useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { ApiError } from "@/shared/api/client";
import type { Created } from "@/shared/api/types";
import { Dialog } from "@/shared/dialog/Dialog";
import { yamlText } from "@/shared/spec/yamlText";
import { useCreate } from "./api/useCreate";
import styles from "./CloneDialog.module.css";
import { FieldErrors } from "./FieldErrors";

interface Props {
  origin: number; // id of the experiment that the new one varies
  document: object;
  onCancel: () => void;
}

export function CloneDialog({ origin, document, onCancel }: Props) {
  const [text, setText] = useState(() => yamlText(document));
  const area = useRef<HTMLTextAreaElement>(null);
  const [, navigate] = useLocation();
  const create = useCreate(origin);
  const fields = create.error instanceof ApiError ? create.error.fields : [];
  const submit = () => {
    create.mutate(text, {
      onSuccess: (made) => {
        if (!made.warnings.length) navigate(`/experiments/${made.id}`);
      },
    });
  };
  return (
    <Dialog
      title="Clone with changes"
      wide
      error={fields.length ? null : create.error}
      onCancel={onCancel}
      onSubmit={submit}
      buttons={
        <button className="button primary" disabled={create.isPending || create.isSuccess}>
          Submit
        </button>
      }
    >
      <p className="muted">The spec of a new experiment, as YAML or JSON. The original stays as it is.</p>
      <textarea
        ref={area}
        className={styles.specText}
        aria-label="Spec"
        aria-invalid={fields.length > 0}
        value={text}
        rows={18}
        spellCheck={false}
        onChange={(event) => {
          setText(event.target.value);
        }}
      />
      <FieldErrors fields={fields} text={text} area={area} />
      <Warnings made={create.data} />
    </Dialog>
  );
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
