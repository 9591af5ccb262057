/** One of several, all in sight: radio buttons that look like tabs. */
import { useId } from "react";
import "@/shared/plot/controls.css";

interface Props {
  label: string;
  options: [value: string, text: string][];
  value: string;
  onChange: (value: string) => void;
}

export function Choice({ label, options, value, onChange }: Props) {
  const name = useId();
  return (
    <fieldset className="choice">
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
