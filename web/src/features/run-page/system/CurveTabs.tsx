/** The curves of a run, and behind a second tab those of its nodes; the address holds the choice. */
import { type ReactNode, useMemo } from "react";
import type { RunDetail } from "@/shared/api/types";
import { AxisChoice } from "@/shared/curves/AxisChoice";
import { RadioTabs } from "@/shared/controls/RadioTabs";
import { changeAxis, WHOLE } from "@/shared/curves/view";
import type { XAxis } from "@/shared/curves/xAxis";
import { changeAddress, useAddress } from "@/shared/page/address";
import { systemOf } from "@/shared/series/names";
import { SystemCurves } from "./SystemCurves";
import styles from "./CurveTabs.module.css";

const TABS: [string, string][] = [
  ["curves", "Curves"],
  ["system", "System"],
];

interface Props {
  run: RunDetail;
  action: ReactNode; // at the right of the tabs
  axis: XAxis; // of the run's own curves
  children: ReactNode; // the curves of the run
}

export function CurveTabs({ run, action, axis, children }: Props) {
  const address = useAddress();
  const names = useMemo(() => run.series.filter((name) => systemOf(name)), [run.series]);
  const tab = names.length && address.get("tab") === "system" ? "system" : "curves";
  return (
    <>
      <div className={styles.curveTabs}>
        {names.length > 0 && (
          <RadioTabs
            label="Curves of"
            options={TABS}
            value={tab}
            onChange={(name) => {
              // the steps of a curve are seconds of a node
              changeAddress({ tab: name === "system" ? name : "", ...WHOLE }, true);
            }}
          />
        )}
        {tab === "curves" && <AxisChoice axis={axis} names={run.series} onChange={changeAxis} />}
        <span className={styles.curveAction}>{action}</span>
      </div>
      {tab === "system" ? <SystemCurves run={run} names={names} /> : children}
    </>
  );
}
