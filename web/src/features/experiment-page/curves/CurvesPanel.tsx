/** One series of all runs, laid over each other. */
import { useMemo, useState } from "react";
import { pace } from "@/shared/api/polling";
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { overlay, smooth } from "@/shared/curves/column";
import { useCurves } from "@/shared/curves/useCurves";
import { plural, tick } from "@/shared/format/number";
import type { Unit } from "@/shared/format/position";
import { Choice } from "@/shared/controls/RadioTabs";
import { Plot } from "@/shared/plot/Plot";
import { Switch } from "@/shared/controls/Switch";
import { visible } from "@/shared/plot/view";
import { chartable, HELDOUT_ACCURACY, seriesKind, type SeriesKind } from "@/shared/series/catalog";
import { hasEnded } from "@/shared/state/state";
import type { Axis, Inks } from "@/features/experiment-page/lineStyles";
import { inEpochs, useStepsPerEpoch } from "./epochs";
import { AxisLegend } from "./AxisLegend";
import { readingOf } from "./readout";
import type { Selection } from "@/features/experiment-page/useSelection";

interface Props {
  experiment: ExperimentDetail;
  runs: RunView[];
  axes: Axis[];
  inks: Inks;
  selection: Selection;
  onColorBy: (path: string) => void;
}

export function CurvesPanel({ experiment, runs, axes, inks, selection, onColorBy }: Props) {
  const [kind, setKind] = useState<SeriesKind>(seriesKind(HELDOUT_ACCURACY));
  const [logarithmic, setLogarithmic] = useState(false);
  const [smoothed, setSmoothed] = useState(true);
  const [byEpoch, setByEpoch] = useState(false);
  const [index, setIndex] = useState<number | null>(null);
  const retold = runs.reduce((sum, run) => sum + Math.max(0, run.attempt - 1), 0);
  const curves = useCurves(experiment.id, kind.name, pace(!hasEnded(experiment.state)), retold);

  const perEpoch = useStepsPerEpoch(experiment, runs);
  const softly = smoothed && (kind.noisy ?? false);
  const sheet = useMemo(() => {
    const columns = [...curves].map(([id, column]) =>
      byEpoch ? inEpochs(column, perEpoch.get(id)) : column,
    );
    return overlay(softly ? columns.map(smooth) : columns);
  }, [curves, softly, byEpoch, perEpoch]);

  const byKey = new Map(runs.map((run) => [String(run.id), run]));
  const lines = [...curves.keys()].map((id) => ({
    key: String(id),
    label: `Run ${id}`,
    dots: !kind.noisy && curves.size < 4,
    ...inks.of(byKey.get(String(id))),
  }));
  const choices = chartable([HELDOUT_ACCURACY, ...runs.flatMap((run) => Object.keys(run.latest))]);
  const unit: Unit = byEpoch ? "epoch" : "step";
  const reading = readingOf({ lines, sheet, runs: byKey, kind, unit }, selection, index);
  return (
    <section className="panel curves" aria-label="Curves">
      <header className="curves-head">
        <Choice
          label="Series"
          options={choices.map((each) => [each.name, each.title])}
          value={kind.name}
          onChange={(name) => {
            setKind(seriesKind(name));
          }}
        />
        <div className="switches">
          <Switch on={byEpoch} onChange={setByEpoch}>
            by epoch
          </Switch>
          {kind.noisy && (
            <Switch on={smoothed} onChange={setSmoothed}>
              smooth
            </Switch>
          )}
          {kind.logarithmic && (
            <Switch on={logarithmic} onChange={setLogarithmic}>
              log scale
            </Switch>
          )}
        </div>
      </header>
      <p className="reading small">
        {reading ??
          (lines.length ? (
            <span className="reading-hint">↑ and ↓ pick a curve</span>
          ) : (
            `No run has measured its ${kind.title.toLowerCase()} yet.`
          ))}
      </p>
      <Plot
        title={kind.title}
        height={360}
        lines={lines}
        sheet={sheet}
        unit={unit}
        reading={
          reading ??
          `${plural(visible({ lines, hidden: selection.hidden }).length, "curve")}, up or down picks one`
        }
        tick={kind.ceiling === 1 ? (value) => `${tick(value * 100)}%` : tick}
        logarithmic={logarithmic && (kind.logarithmic ?? false)}
        {...(kind.ceiling === undefined ? {} : { ceiling: kind.ceiling })}
        hidden={selection.hidden}
        lit={selection.lit}
        seeks
        onIndex={setIndex}
        onNear={(key) => {
          selection.light(key ? [key] : null);
        }}
      />
      <AxisLegend {...{ axes, inks, runs, selection, onColorBy }} />
    </section>
  );
}
