/** The predicted times of every update rule with every collective, the fastest first. */
import type { PlanOption, PlanReport } from "@/shared/api/types";
import { nameOf, shapeOf } from "@/shared/format/collectives";
import { formatBytes, formatNumber, formatSeconds } from "@/shared/format/number";
import { formatDuration } from "@/shared/format/time";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import styles from "./OptionTable.module.css";

export function OptionTable({ plan }: { plan: PlanReport }) {
  const wideNumber = classNames("number", styles.wideColumn);
  const hasCost = plan.options.some(({ cost }) => cost !== null);
  return (
    <ScrollRegion className="scroll panel" label="Update rules and collectives">
      <table className={styles.planOptions}>
        <thead>
          <tr>
            <th scope="col">Update rule</th>
            <th scope="col">Collective</th>
            <th scope="col" className="number">
              Step
            </th>
            <th scope="col" className={wideNumber}>
              Exchange
            </th>
            <th scope="col" className={wideNumber}>
              Epoch
            </th>
            <th scope="col" className="number">
              Run
            </th>
            <th scope="col" className={wideNumber}>
              Memory
            </th>
            <th scope="col" className={wideNumber}>
              Device-hours
            </th>
            {hasCost && (
              <th scope="col" className="number">
                Cost
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {plan.options.map((option) => (
            <OptionRow key={`${option.rule} ${collectiveOf(option)}`} option={option} hasCost={hasCost} />
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function OptionRow({ option, hasCost }: { option: PlanOption; hasCost: boolean }) {
  const wideNumber = classNames("number", styles.wideColumn);
  return (
    <tr>
      <th scope="row" className={styles.rule}>
        {option.rule}
      </th>
      <td>{collectiveOf(option)}</td>
      <td className="number">{formatSeconds(option.step_s)}</td>
      <td className={wideNumber}>{formatSeconds(option.exchange_s)}</td>
      <td className={wideNumber}>{formatDuration(option.epoch_s)}</td>
      <td className="number">{formatDuration(option.run_s)}</td>
      <td className={wideNumber}>{option.memory_bytes === null ? "–" : formatBytes(option.memory_bytes)}</td>
      <td className={wideNumber}>{formatNumber(option.device_hours, 3)}</td>
      {hasCost && <td className="number">{formatNumber(option.cost ?? 0, 4)}</td>}
    </tr>
  );
}

function collectiveOf({ collective }: PlanOption): string {
  return collective ? `${nameOf(collective)} ${shapeOf(collective)}`.trim() : "its own exchange";
}
