/** A labeled line of text, with a hint or the error of its value below. */
import { useId } from "react";
import { classNames } from "@/shared/page/classNames";
import styles from "./TextField.module.css";

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: string;
  error?: string | undefined;
  placeholder?: string;
  type?: "text" | "number";
}

export function TextField({ label, value, onChange, hint, error, ...input }: Props) {
  const id = useId();
  return (
    <div className={styles.textField}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="textInput"
        value={value}
        autoComplete="off"
        aria-invalid={Boolean(error)}
        aria-describedby={`${id}-note`}
        onChange={(event) => {
          onChange(event.target.value);
        }}
        {...input}
      />
      <p id={`${id}-note`} className={classNames("small", error ? styles.fieldError : "muted")}>
        {error ?? hint}
      </p>
    </div>
  );
}
