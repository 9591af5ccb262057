/** A labeled list of which one entry is chosen. */
import { useId } from "react";
import { classNames } from "@/shared/page/classNames";
import styles from "./Choice.module.css";

export type ChoiceOption = readonly [value: string, text: string];

interface Props {
  label: string;
  value: string;
  options: readonly ChoiceOption[];
  onChange: (value: string) => void;
}

export function Choice({ label, value, options, onChange }: Props) {
  const id = useId();
  return (
    <span className={styles.choiceField}>
      <label htmlFor={id} className="small muted">
        {label}
      </label>
      <select
        id={id}
        className={classNames("textInput", "small")}
        value={value}
        onChange={(event) => {
          onChange(event.target.value);
        }}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </span>
  );
}
