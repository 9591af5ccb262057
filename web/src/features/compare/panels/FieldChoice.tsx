/** The choice of a field among those that the page offers; a field of the address that it does not offer stays. */
import { Choice } from "@/shared/controls/Choice";
import { fieldTitle, optionsOf } from "../groups/fields";

interface Props {
  label: string;
  value: string;
  fields: readonly string[];
  onChange: (field: string) => void;
}

export function FieldChoice({ label, value, fields, onChange }: Props) {
  const options = optionsOf(fields);
  const all = fields.includes(value) ? options : [[value, fieldTitle(value)] as const, ...options];
  return <Choice label={label} value={value} options={all} onChange={onChange} />;
}
