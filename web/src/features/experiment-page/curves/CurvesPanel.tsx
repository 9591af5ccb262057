/** The panel of the overlaid curves: toolbar, readout, chart and legend. */
import { useState } from "react";
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { formatTick, pluralize } from "@/shared/format/number";
import type { StepRange } from "@/shared/curves/view";
import type { Unit } from "@/shared/format/position";
import { classNames } from "@/shared/page/classNames";
import { Plot } from "@/shared/plot/Plot";
import { type Line, visibleLines } from "@/shared/plot/view";
import type { YRange } from "@/shared/plot/yRange";
import type { SeriesKind } from "@/shared/series/catalog";
import type { Axis } from "../axes";
import type { LineStyles } from "../lineStyles";
import type { Selection } from "../useSelection";
import { AxisLegend } from "./AxisLegend";
import styles from "./CurvesPanel.module.css";
import { CurvesToolbar } from "./CurvesToolbar";
import { readoutText } from "./readout";
import { useCurveOptions } from "./useCurveOptions";
import { useOverlay } from "./useOverlay";
import { useYRange } from "./useYRange";

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
  const [stepRange, setStepRange] = useState<StepRange>(null);
  const overlay = useOverlay(experiment, runs, lineStyles, options, stepRange);
  const { kind, logarithmic } = options;
  const unit: Unit = options.byEpoch ? "epoch" : "step";
  const byKey = new Map(runs.map((run) => [String(run.id), run]));
  const readout = readoutText({ ...overlay, runs: byKey, kind, unit }, selection, index);
  const visible = visibleLines({ lines: overlay.lines, hidden: selection.hidden }).length;
  const { range, hasRange } = useYRange(overlay, options, selection.hidden);
  return (
    <section className={classNames("panel", styles.curvesPanel)} aria-label="Curves">
      <CurvesToolbar {...toolbar} options={options} hasRange={hasRange} />
      <p className={classNames("small", styles.readout)} data-testid="readout">
        {readout ?? <Hint {...{ overlay, runs, kind }} hasKinds={toolbar.kinds.length > 0} />}
      </p>
      <Plot
        {...overlay}
        title={kind.title}
        height={360}
        unit={unit}
        readout={readout ?? `${pluralize(visible, "curve")}, press up or down to select one`}
        tick={kind.tick ?? formatTick}
        logarithmic={logarithmic && (kind.logarithmic ?? false)}
        yRange={range}
        {...(kind.ceiling === undefined ? {} : { ceiling: kind.ceiling })}
        hidden={selection.hidden}
        highlighted={selection.highlighted}
        selectsNearest
        onIndex={setIndex}
        onRange={setStepRange}
        onSelect={(key) => {
          selection.highlight(key ? [key] : null);
        }}
      />
      {range && <CutNote range={range} kind={kind} />}
      <AxisLegend {...{ axes, lineStyles, runs, selection, onColorBy }} />
    </section>
  );
}

interface HintProps {
  overlay: { lines: Line[] };
  runs: RunView[];
  kind: SeriesKind;
  hasKinds: boolean;
}

function Hint({ overlay, runs, kind, hasKinds }: HintProps) {
  if (!overlay.lines.length && runs.some(({ latest }) => kind.name in latest))
    return <>Loading the curves…</>;
  if (!overlay.lines.length)
    return <>No run has reported a {hasKinds ? kind.title.toLowerCase() : "value"} yet.</>;
  return <span className={styles.readoutHint}>↑ and ↓ select a curve</span>;
}

/** How many curves leave the picture, and what it shows. */
function CutNote({ range, kind }: { range: YRange; kind: SeriesKind }) {
  if (!range.cut) return null;
  return (
    <p className="small muted">
      {pluralize(range.cut, "curve")} {range.cut === 1 ? "leaves" : "leave"} the picture, which shows{" "}
      {kind.format(range.low)} to {kind.format(range.high)}.
    </p>
  );
}
