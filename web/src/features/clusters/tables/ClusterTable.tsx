/** A table of a cluster's page: its first rows, and more on request. */
import { type ReactNode, useState } from "react";
import { formatCount } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import styles from "./ClusterTable.module.css";

const FEW = 50; // rows of a table before a click: thousands of nodes would make a page of 130,000 pixels
const MORE = 200; // rows that a click adds

interface TableProps {
  title: string;
  columns: string[];
  children: ReactNode[];
}

export function ClusterTable({ title, columns, children }: TableProps) {
  const [most, setMost] = useState(FEW);
  const className = classNames("scroll panel", styles.clusterTable);
  const rest = children.length - most;
  return (
    <div>
      <ScrollRegion className={className} label={title}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{children.slice(0, most)}</tbody>
        </table>
      </ScrollRegion>
      {rest > 0 && (
        <p className={classNames("small", styles.rest)}>
          <button
            className="button small"
            onClick={() => {
              setMost(most + MORE);
            }}
          >
            {formatCount(Math.min(rest, MORE))} more
          </button>{" "}
          <span className="muted">
            {title}: {formatCount(most)} of {formatCount(children.length)}
          </span>
        </p>
      )}
    </div>
  );
}
