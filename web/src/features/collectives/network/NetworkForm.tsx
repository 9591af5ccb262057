/** The network in figures: every change is priced at once. */
import { useState } from "react";
import { FIGURES, type Figure, type Network } from "./useNetwork";

interface Props {
  network: Network;
  onChange: (change: Partial<Network>) => void;
}

export function NetworkForm({ network, onChange }: Props) {
  return (
    <form
      className="network"
      aria-label="Network"
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      {FIGURES.map((figure) => (
        <Field
          key={figure.name}
          figure={figure}
          value={network[figure.name]}
          onChange={(value) => {
            onChange({ [figure.name]: value });
          }}
        />
      ))}
    </form>
  );
}

interface FieldProps {
  figure: Figure;
  value: number;
  onChange: (value: number) => void;
}

function Field({ figure, value, onChange }: FieldProps) {
  const { label, unit, scale, least, whole } = figure;
  const [text, setText] = useState(String(Number((value / scale).toPrecision(9))));
  const isFit = (typed: string) => {
    const number = Number(typed);
    return typed.trim() !== "" && number >= least && number <= 1e9 && (!whole || Number.isInteger(number));
  };
  return (
    <label className="field">
      <span>{label}</span>
      <span className="field-box">
        <input
          inputMode={whole ? "numeric" : "decimal"}
          value={text}
          aria-invalid={!isFit(text)}
          onChange={(event) => {
            const typed = event.target.value;
            setText(typed);
            if (isFit(typed)) onChange(Number((Number(typed) * scale).toPrecision(12)));
          }}
        />
        {unit && <i>{unit}</i>}
      </span>
    </label>
  );
}
