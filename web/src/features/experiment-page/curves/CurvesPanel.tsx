/** The panel of the overlaid curves: toolbar, readout, chart and legend. */
import { useState } from "react";
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { formatTick, pluralize } from "@/shared/format/number";
import type { StepRange } from "@/shared/curves/view";
import type { Unit } from "@/shared/format/position";
import { classNames } from "@/shared/page/classNames";
import { Plot } from "@/shared/plot/Plot";
import { visibleLines } from "@/shared/plot/view";
import type { Axis } from "../axes";
import type { LineStyles } from "../lineStyles";
import type { Selection } from "../useSelection";
import { AxisLegend } from "./AxisLegend";
import styles from "./CurvesPanel.module.css";
import { CurvesToolbar } from "./CurvesToolbar";
import { readoutText } from "./readout";
import { useCurveOptions } from "./useCurveOptions";
import { useOverlay } from "./useOverlay";

interface Props {
  experiment: ExperimentDetail;
  runs: RunView[];
  axes: Axis[];
  lineStyles: LineStyles;
  selection: Selection;
  onColorBy: (path: string) => void;
}

export function CurvesPanel({ experiment, runs, axes, lineStyles, selection, onColorBy }: Props) {
  const { options, ...toolbar } = useCurveOptions(experiment, runs);
  const [index, setIndex] = useState<number | null>(null);
  const [range, setRange] = useState<StepRange>(null);
  const overlay = useOverlay(experiment, runs, lineStyles, options, range);
  const { kind, logarithmic } = options;
  const unit: Unit = options.byEpoch ? "epoch" : "step";
  const byKey = new Map(runs.map((run) => [String(run.id), run]));
  const readout = readoutText({ ...overlay, runs: byKey, kind, unit }, selection, index);
  const visible = visibleLines({ lines: overlay.lines, hidden: selection.hidden }).length;
  return (
    <section className={classNames("panel", styles.curvesPanel)} aria-label="Curves">
      <CurvesToolbar {...toolbar} options={options} />
      <p className={classNames("small", styles.readout)} data-testid="readout">
        {readout ?? (
          <Hint hasCurves={overlay.lines.length > 0} title={toolbar.kinds.length ? kind.title : "value"} />
        )}
      </p>
      <Plot
        {...overlay}
        title={kind.title}
        height={360}
        unit={unit}
        readout={readout ?? `${pluralize(visible, "curve")}, press up or down to select one`}
        tick={kind.ceiling === 1 ? (value) => `${formatTick(value * 100)}%` : formatTick}
        logarithmic={logarithmic && (kind.logarithmic ?? false)}
        {...(kind.ceiling === undefined ? {} : { ceiling: kind.ceiling })}
        hidden={selection.hidden}
        highlighted={selection.highlighted}
        selectsNearest
        onIndex={setIndex}
        onRange={setRange}
        onSelect={(key) => {
          selection.highlight(key ? [key] : null);
        }}
      />
      <AxisLegend {...{ axes, lineStyles, runs, selection, onColorBy }} />
    </section>
  );
}

function Hint({ hasCurves, title }: { hasCurves: boolean; title: string }) {
  if (!hasCurves) return <>No run has reported a {title.toLowerCase()} yet.</>;
  return <span className={styles.readoutHint}>↑ and ↓ select a curve</span>;
}
