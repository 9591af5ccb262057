/** One field: its name, its input, what it means, and its error. */
import { useId } from "react";
import { classNames } from "@/shared/page/classNames";
import type { Path } from "../editor/document";
import { useFieldError, useForm } from "./context";
import { FieldInput } from "./FieldInput";
import { NestedFields } from "./NestedFields";
import { type Field, inputOf } from "./schema";
import styles from "./SpecForm.module.css";

interface Props {
  field: Field;
  value: unknown;
  path: Path;
}

export function FieldRow({ field, value, path }: Props) {
  const { root } = useForm();
  const error = useFieldError(path);
  const id = useId();
  const input = inputOf(field.schema, root);
  if (input === "variants" || input === "object") return <NestedFields {...{ field, value, path, error }} />;
  return (
    <div className={styles.fieldRow}>
      <label htmlFor={id}>
        <code>{field.name}</code>
      </label>
      <FieldInput {...{ id, field, value, path, error }} />
      <RemoveButton {...{ field, path }} />
      <p id={`${id}-note`} className={classNames("small", error ? styles.invalid : "muted")}>
        {error ?? field.description}
      </p>
    </div>
  );
}

/** Remove a field that is not required: the service then uses its initial value. */
export function RemoveButton({ field, path }: Pick<Props, "field" | "path">) {
  const { onChange } = useForm();
  if (field.isRequired) return null;
  return (
    <button
      type="button"
      className={classNames("plain", styles.removeButton)}
      aria-label={`Remove ${path.join(".")}`}
      title="remove this field"
      onClick={() => {
        onChange(path, undefined);
      }}
    >
      ×
    </button>
  );
}
