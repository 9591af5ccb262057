/** The memory of one rank: a bar of its parts against the device's memory, and a table. */
import type { CSSProperties } from "react";
import type { PlanReport } from "@/shared/api/types";
import { formatBytes, formatCount, formatPercent } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import styles from "./MemoryPanel.module.css";

type Memory = NonNullable<PlanReport["memory"]>;

export function MemoryPanel({ memory }: { memory: PlanReport["memory"] }) {
  return (
    <section aria-label="Memory of a rank">
      <h2>Memory of a rank</h2>
      {memory ? (
        <Parts memory={memory} />
      ) : (
        <p className="muted">The activations of this net are not known.</p>
      )}
    </section>
  );
}

function Parts({ memory }: { memory: Memory }) {
  const parts = memory.parts.filter(({ bytes }) => bytes > 0);
  const whole = Math.max(memory.device_bytes, memory.total_bytes);
  const fits = memory.total_bytes <= memory.device_bytes;
  return (
    <>
      <p className={classNames(!fits && styles.tooLarge)}>
        {formatBytes(memory.total_bytes)} of {formatBytes(memory.device_bytes)} (
        {formatPercent(memory.total_bytes / memory.device_bytes, 0)}); at most{" "}
        {formatCount(memory.largest_micro_batch)} samples a pass fit.
      </p>
      <div className={styles.memoryBar} aria-hidden="true">
        {parts.map(({ name, bytes }, index) => (
          <i key={name} style={{ "--share": bytes / whole, "--depth": depth(index) } as CSSProperties} />
        ))}
      </div>
      <table className={styles.memoryParts}>
        <tbody>
          {parts.map(({ name, bytes }, index) => (
            <tr key={name}>
              <th scope="row">
                <i style={{ "--depth": depth(index) } as CSSProperties} />
                {name}
              </th>
              <td className="number">{formatBytes(bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** Return how much of the accent color a part has: neighbors differ. */
function depth(index: number): string {
  return `${100 - 13 * index}%`;
}
