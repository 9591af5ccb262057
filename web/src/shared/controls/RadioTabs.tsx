/** Radio buttons in the form of tabs. */
import { useId } from "react";
import styles from "./RadioTabs.module.css";

interface Props {
  label: string;
  options: [value: string, text: string][];
  value: string;
  onChange: (value: string) => void;
}

export function RadioTabs({ label, options, value, onChange }: Props) {
  const name = useId();
  return (
    <fieldset className={styles.radioTabs}>
      <legend className="visually-hidden">{label}</legend>
      {options.map(([option, text]) => (
        <label key={option}>
          <input
            type="radio"
            className="visually-hidden"
            name={name}
            checked={option === value}
            onChange={() => {
              onChange(option);
            }}
          />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}
