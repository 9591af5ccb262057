/** The input of one value: text, number, switch, choice, or a JSON text for lists and other objects. */
import { useState } from "react";
import type { Path } from "../document";
import { useForm } from "./context";
import { type Field, inputOf } from "./schema";

interface Props {
  id: string;
  field: Field;
  value: unknown;
  path: Path;
  error: string | undefined;
}

export function FieldInput({ id, field, value, path, error }: Props) {
  const { root, onChange } = useForm();
  const input = inputOf(field.schema, root);
  const shared = { id, "aria-invalid": Boolean(error), "aria-describedby": `${id}-note` };
  if (input === "switch")
    return (
      <input
        {...shared}
        type="checkbox"
        role="switch"
        checked={value === true}
        onChange={(event) => {
          onChange(path, event.target.checked);
        }}
      />
    );
  if (input === "choice")
    return (
      <select
        {...shared}
        className="textInput"
        value={textOf(value ?? field.initial)}
        onChange={(event) => {
          onChange(path, event.target.value);
        }}
      >
        {field.schema.enum?.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    );
  return (
    <TextInput {...{ shared, field, value, path }} parse={input === "text" ? (text) => text : readJson} />
  );
}

interface TextProps {
  shared: { id: string; "aria-invalid": boolean; "aria-describedby": string };
  field: Field;
  value: unknown;
  path: Path;
  parse: (text: string) => unknown;
}

/** A line of text that changes the value when it can be read; until then the text of the reader remains. */
function TextInput({ shared, field, value, path, parse }: TextProps) {
  const { onChange } = useForm();
  const [draft, setDraft] = useState<string | null>(null);
  const written = value === undefined ? "" : textOf(value);
  return (
    <input
      {...shared}
      className="textInput"
      value={draft ?? written}
      placeholder={field.initial === undefined ? "" : textOf(field.initial)}
      autoComplete="off"
      onChange={(event) => {
        const text = event.target.value;
        const parsed = text === "" && !field.isRequired ? undefined : parse(text);
        setDraft(text);
        onChange(path, parsed);
      }}
      onBlur={() => {
        setDraft(null);
      }}
    />
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Return the value of a JSON text; any other text is a text, which the service refuses with its reason. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
