/** The fields of an object: those that the text has or that are required, and a list of the others to add. */
import { useId } from "react";
import type { Path } from "../editor/document";
import { useForm } from "./context";
import { FieldRow } from "./FieldRow";
import { type Field, fieldsOf, firstValue, type Schema } from "./schema";
import styles from "./SpecForm.module.css";

interface Props {
  schema: Schema;
  value: Record<string, unknown>;
  path: Path;
  without?: string; // a field that is shown elsewhere
}

export function ObjectFields({ schema, value, path, without }: Props) {
  const { root, onChange } = useForm();
  const fields = fieldsOf(schema, root).filter(({ name }) => name !== without);
  const shown = fields.filter(({ name, isRequired }) => isRequired || name in value);
  const others = fields.filter((field) => !shown.includes(field));
  return (
    <div className={styles.objectFields}>
      {shown.map((field) => (
        <FieldRow key={field.name} field={field} value={value[field.name]} path={[...path, field.name]} />
      ))}
      {others.length > 0 && (
        <AddField
          fields={others}
          path={path}
          onAdd={(field) => {
            onChange([...path, field.name], firstValue(field, root));
          }}
        />
      )}
    </div>
  );
}

interface AddProps {
  fields: Field[];
  path: Path;
  onAdd: (field: Field) => void;
}

function AddField({ fields, path, onAdd }: AddProps) {
  const id = useId();
  const place = path.length ? ` of ${path.join(".")}` : "";
  return (
    <div className={styles.addField}>
      <label htmlFor={id} className="visually-hidden">
        Add a field{place}
      </label>
      <select
        id={id}
        className="textInput"
        value=""
        onChange={(event) => {
          const field = fields.find(({ name }) => name === event.target.value);
          if (field) onAdd(field);
        }}
      >
        <option value="">Add a field …</option>
        {fields.map(({ name, description }) => (
          <option key={name} value={name}>
            {name}: {description.split("\n")[0]}
          </option>
        ))}
      </select>
    </div>
  );
}
