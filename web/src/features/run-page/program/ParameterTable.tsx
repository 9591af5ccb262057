/** The parameters of a program by dotted name; those that vary over the experiment are marked. */
import { valueText } from "@/shared/format/value";
import { classNames } from "@/shared/page/classNames";
import styles from "./ParameterTable.module.css";

interface Props {
  parameters: Record<string, unknown>;
  varied: ReadonlySet<string>; // dotted paths of the spec
}

export function ParameterTable({ parameters, varied }: Props) {
  const rows = leaves(parameters);
  if (!rows.length) return <p className="muted">The program has no parameters.</p>;
  return (
    <div className={styles.parameters}>
      <table aria-label="Parameters">
        <thead className="visually-hidden">
          <tr>
            <th scope="col">Parameter</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name} className={classNames(isVaried(name, varied) && styles.variedParameter)}>
              <th scope="row">{name}</th>
              <td>{typeof value === "string" ? value : valueText(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Return whether an axis is this parameter, or an object that contains it. */
function isVaried(name: string, varied: ReadonlySet<string>): boolean {
  const parts = name.split(".");
  return parts.some((_, index) => varied.has(["parameters", ...parts.slice(0, index + 1)].join(".")));
}

/** Return the parameters by dotted names, without the objects that contain others. */
function leaves(parameters: Record<string, unknown>, prefix = ""): [string, unknown][] {
  return Object.entries(parameters).flatMap(([name, value]): [string, unknown][] => {
    const isGroup = typeof value === "object" && value !== null && !Array.isArray(value);
    if (!isGroup || !Object.keys(value).length) return [[`${prefix}${name}`, value]];
    return leaves(value as Record<string, unknown>, `${prefix}${name}.`);
  });
}
