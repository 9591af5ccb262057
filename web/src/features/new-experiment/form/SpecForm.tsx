/** The fields of a spec as a form, from its JSON schema; a change of a field changes the text alone at its place. */
import type { ApiError } from "@/shared/api/client";
import type { Path } from "../editor/document";
import { FormContext } from "./context";
import { ObjectFields } from "./ObjectFields";
import type { Schema } from "./schema";
import styles from "./SpecForm.module.css";

interface Props {
  root: Schema;
  value: unknown;
  errors: ApiError["fields"];
  onChange: (path: Path, value: unknown) => void;
}

export function SpecForm({ root, value, errors, onChange }: Props) {
  return (
    <FormContext value={{ root, errors, onChange }}>
      <form
        className={styles.specForm}
        aria-label="Form"
        onSubmit={(event) => {
          event.preventDefault();
        }}
      >
        <ObjectFields schema={root} value={asObject(value)} path={[]} />
      </form>
    </FormContext>
  );
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
