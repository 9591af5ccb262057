/** The form of the network; each valid change updates the prices. */
import { useState } from "react";
import styles from "./NetworkForm.module.css";
import { FIELDS, type Network, type NetworkField } from "./useNetwork";

interface Props {
  network: Network;
  onChange: (change: Partial<Network>) => void;
}

export function NetworkForm({ network, onChange }: Props) {
  return (
    <form
      className={styles.networkForm}
      aria-label="Network"
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      {FIELDS.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={network[field.name]}
          onChange={(value) => {
            onChange({ [field.name]: value });
          }}
        />
      ))}
    </form>
  );
}

interface FieldProps {
  field: NetworkField;
  value: number;
  onChange: (value: number) => void;
}

function Field({ field, value, onChange }: FieldProps) {
  const { label, unit, scale, least, whole } = field;
  const [text, setText] = useState(String(Number((value / scale).toPrecision(9))));
  const isValid = (typed: string) => {
    const number = Number(typed);
    return typed.trim() !== "" && number >= least && number <= 1e9 && (!whole || Number.isInteger(number));
  };
  return (
    <label className={styles.field}>
      <span>{label}</span>
      <span className={styles.fieldBox}>
        <input
          inputMode={whole ? "numeric" : "decimal"}
          value={text}
          aria-invalid={!isValid(text)}
          onChange={(event) => {
            const typed = event.target.value;
            setText(typed);
            if (isValid(typed)) onChange(Number((Number(typed) * scale).toPrecision(12)));
          }}
        />
        {unit && <i>{unit}</i>}
      </span>
    </label>
  );
}
