/** Values that differ between two runs, by dotted path. */
import type { ValueDifference } from "@/shared/api/types";
import { valueText } from "@/shared/format/value";
import styles from "./DifferenceTable.module.css";

interface Props {
  name: string;
  heads: [string, string];
  values: ValueDifference[];
}

export function DifferenceTable({ name, heads, values }: Props) {
  if (!values.length) return <p className="muted">No difference.</p>;
  return (
    <div className={styles.differenceTable}>
      <table aria-label={name}>
        <thead>
          <tr>
            <th scope="col">Field</th>
            {heads.map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {values.map(({ path, first, second }) => (
            <tr key={path}>
              <th scope="row">{path}</th>
              <td>{cellText(first)}</td>
              <td>{cellText(second)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellText(value: unknown): string {
  return typeof value === "string" ? value : valueText(value);
}
