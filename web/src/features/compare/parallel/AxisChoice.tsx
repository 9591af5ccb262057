/** The axes of parallel coordinates: each can move to the left and be removed, others are added. */
import { classNames } from "@/shared/page/classNames";
import { fieldTitle, optionsOf } from "../groups/fields";
import styles from "./AxisChoice.module.css";

interface Props {
  fields: string[];
  offered: string[];
  onFields: (fields: string[]) => void;
}

export function AxisChoice({ fields, offered, onFields }: Props) {
  return (
    <>
      {fields.map((field, index) => (
        <AxisField key={field} {...{ field, index, fields, onFields }} />
      ))}
      <select
        className={classNames("textInput small", styles.axisSelect)}
        aria-label="Add an axis"
        value=""
        onChange={(event) => {
          onFields([...fields, event.target.value]);
        }}
      >
        <option value="">add an axis …</option>
        {optionsOf(offered.filter((field) => !fields.includes(field))).map(([field, text]) => (
          <option key={field} value={field}>
            {text}
          </option>
        ))}
      </select>
    </>
  );
}

interface FieldProps extends Omit<Props, "offered"> {
  field: string;
  index: number;
}

function AxisField({ field, index, fields, onFields }: FieldProps) {
  const title = fieldTitle(field);
  return (
    <span className={styles.axisField}>
      {index > 0 && (
        <button
          className="plain"
          aria-label={`Move ${title} to the left`}
          onClick={() => {
            onFields(fields.with(index - 1, field).with(index, fields[index - 1] ?? ""));
          }}
        >
          ←
        </button>
      )}
      {title}
      <button
        className="plain"
        aria-label={`Remove the axis ${title}`}
        onClick={() => {
          onFields(fields.filter((other) => other !== field));
        }}
      >
        ×
      </button>
    </span>
  );
}
