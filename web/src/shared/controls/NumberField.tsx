/** A labeled number with its unit; only valid values are reported. An optional field may be empty: null. */
import { useState } from "react";
import styles from "./NumberField.module.css";

export interface NumberFormat {
  label: string;
  unit: string;
  scale: number; // units of the API in one unit of the form
  least: number;
  most?: number;
  whole?: boolean;
  placeholder?: string; // of an optional field, whose empty value is null
}

interface Props {
  format: NumberFormat;
  value: number | null;
  onChange: (value: number | null) => void;
}

export function NumberField({ format, value, onChange }: Props) {
  const { label, unit, scale, least, most = 1e9, whole, placeholder } = format;
  const [text, setText] = useState(value === null ? "" : String(Number((value / scale).toPrecision(9))));
  const isEmpty = (typed: string) => typed.trim() === "";
  const isValid = (typed: string) => {
    if (isEmpty(typed)) return placeholder !== undefined;
    const number = Number(typed);
    return number >= least && number <= most && (!whole || Number.isInteger(number));
  };
  return (
    <label className={styles.numberField}>
      <span>{label}</span>
      <span className={styles.numberBox}>
        <input
          inputMode={whole ? "numeric" : "decimal"}
          value={text}
          placeholder={placeholder}
          aria-invalid={!isValid(text)}
          onChange={(event) => {
            const typed = event.target.value;
            setText(typed);
            if (isValid(typed))
              onChange(isEmpty(typed) ? null : Number((Number(typed) * scale).toPrecision(12)));
          }}
        />
        {unit && <i>{unit}</i>}
      </span>
    </label>
  );
}
