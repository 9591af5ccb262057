/** The fields of a spec as a form, from its JSON schema; a change of a field changes the text alone at its place. */
import { useId } from "react";
import type { ApiError } from "@/shared/api/client";
import { classNames } from "@/shared/page/classNames";
import type { Path } from "../document";
import { FormContext, useFieldError, useForm } from "./context";
import { FieldInput } from "./FieldInput";
import { type Field, fieldsOf, firstValue, inputOf, type Schema, variantsOf } from "./schema";
import styles from "./SpecForm.module.css";

interface Props {
  root: Schema;
  value: unknown;
  errors: ApiError["fields"];
  onChange: (path: Path, value: unknown) => void;
}

export function SpecForm({ root, value, errors, onChange }: Props) {
  return (
    <FormContext value={{ root, errors, onChange }}>
      <form
        className={styles.specForm}
        aria-label="Form"
        onSubmit={(event) => {
          event.preventDefault();
        }}
      >
        <ObjectFields schema={root} value={asObject(value)} path={[]} />
      </form>
    </FormContext>
  );
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

interface ObjectFieldsProps {
  schema: Schema;
  value: Record<string, unknown>;
  path: Path;
  without?: string; // a field that is shown elsewhere
}

/** The fields of an object: those that the text has or that are required, and a list of the others to add. */
function ObjectFields({ schema, value, path, without }: ObjectFieldsProps) {
  const { root, onChange } = useForm();
  const fields = fieldsOf(schema, root).filter(({ name }) => name !== without);
  const shown = fields.filter(({ name, isRequired }) => isRequired || name in value);
  const others = fields.filter((field) => !shown.includes(field));
  return (
    <div className={styles.objectFields}>
      {shown.map((field) => (
        <FieldRow key={field.name} field={field} value={value[field.name]} path={[...path, field.name]} />
      ))}
      {others.length > 0 && (
        <AddField
          fields={others}
          path={path}
          onAdd={(field) => {
            onChange([...path, field.name], firstValue(field, root));
          }}
        />
      )}
    </div>
  );
}

interface AddProps {
  fields: Field[];
  path: Path;
  onAdd: (field: Field) => void;
}

function AddField({ fields, path, onAdd }: AddProps) {
  const id = useId();
  const place = path.length ? ` of ${path.join(".")}` : "";
  return (
    <div className={styles.addField}>
      <label htmlFor={id} className="visually-hidden">
        Add a field{place}
      </label>
      <select
        id={id}
        className="textInput"
        value=""
        onChange={(event) => {
          const field = fields.find(({ name }) => name === event.target.value);
          if (field) onAdd(field);
        }}
      >
        <option value="">Add a field …</option>
        {fields.map(({ name, description }) => (
          <option key={name} value={name}>
            {name}: {description.split("\n")[0]}
          </option>
        ))}
      </select>
    </div>
  );
}

interface NestedFieldsProps {
  field: Field;
  value: unknown;
  path: Path;
  error: string | undefined;
}

/** A field that is an object: its kind, if it has several, and its own fields. */
function NestedFields({ field, value, path, error }: NestedFieldsProps) {
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

interface FieldRowProps {
  field: Field;
  value: unknown;
  path: Path;
}

/** One field: its name, its input, what it means, and its error. */
function FieldRow({ field, value, path }: FieldRowProps) {
  const { root } = useForm();
  const error = useFieldError(path);
  const id = useId();
  const input = inputOf(field.schema, root);
  if (input === "variants" || input === "object") return <NestedFields {...{ field, value, path, error }} />;
  return (
    <div className={styles.fieldRow}>
      <label htmlFor={id}>
        <code>{field.name}</code>
      </label>
      <FieldInput {...{ id, field, value, path, error }} />
      <RemoveButton {...{ field, path }} />
      <p id={`${id}-note`} className={classNames("small", error ? styles.invalid : "muted")}>
        {error ?? field.description}
      </p>
    </div>
  );
}

/** Remove a field that is not required: the service then uses its initial value. */
function RemoveButton({ field, path }: Pick<FieldRowProps, "field" | "path">) {
  const { onChange } = useForm();
  if (field.isRequired) return null;
  return (
    <button
      type="button"
      className={classNames("plain", styles.removeButton)}
      aria-label={`Remove ${path.join(".")}`}
      title="remove this field"
      onClick={() => {
        onChange(path, undefined);
      }}
    >
      ×
    </button>
  );
}
