/** A field that is an object: its kind, if it has several, and its own fields. */
import { useId } from "react";
import { classNames } from "@/shared/page/classNames";
import type { Path } from "../editor/document";
import { useForm } from "./context";
import { RemoveButton } from "./FieldRow";
import { ObjectFields } from "./ObjectFields";
import { type Field, type Schema, variantsOf } from "./schema";
import styles from "./SpecForm.module.css";

interface Props {
  field: Field;
  value: unknown;
  path: Path;
  error: string | undefined;
}

export function NestedFields({ field, value, path, error }: Props) {
  const { root } = useForm();
  const own = isObject(value) ? value : {};
  const variants = variantsOf(field.schema, root) ?? {};
  const kinds = Object.keys(variants);
  const kind = kindOf(own, kinds);
  const schema = kinds.length ? variants[kind] : field.schema;
  return (
    <fieldset className={styles.nested}>
      <legend>
        <code>{field.name}</code>
        {kinds.length > 0 && <KindSelect {...{ path, kind, kinds }} />}
        <RemoveButton {...{ field, path }} />
      </legend>
      <p className={classNames("small", error ? styles.invalid : "muted")}>
        {error ?? firstLine(schema, field)}
      </p>
      {schema && (
        <ObjectFields schema={schema} value={own} path={path} without={kinds.length ? "kind" : ""} />
      )}
    </fieldset>
  );
}

interface KindProps {
  path: Path;
  kind: string;
  kinds: string[];
}

function KindSelect({ path, kind, kinds }: KindProps) {
  const { onChange } = useForm();
  const id = useId();
  return (
    <>
      <label htmlFor={id} className="visually-hidden">
        Kind of {path.join(".")}
      </label>
      <select
        id={id}
        className={classNames("textInput", styles.kindSelect)}
        value={kind}
        onChange={(event) => {
          // the fields of another kind are others
          onChange(path, { kind: event.target.value });
        }}
      >
        {kinds.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </>
  );
}

/** Return the kind of a value; without one it is the first, which is what the service takes. */
function kindOf(value: Record<string, unknown>, kinds: string[]): string {
  const stated = value.kind;
  return typeof stated === "string" ? stated : (kinds[0] ?? "");
}

function firstLine(schema: Schema | undefined, field: Field): string {
  return (schema?.description ?? field.description).split("\n")[0] ?? "";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
