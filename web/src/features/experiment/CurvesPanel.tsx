/** One series of all runs, laid over each other. */
import { useMemo, useState } from "react";
import { pace } from "@/shared/api/pace";
import type { ExperimentDetail, RunView } from "@/shared/api/types";
import { overlay, smooth, type Values } from "@/shared/curves/column";
import { useCurves } from "@/shared/curves/useCurves";
import { count, tick } from "@/shared/format/number";
import { valuesText } from "@/shared/format/value";
import { Choice } from "@/shared/plot/Choice";
import { Plot } from "@/shared/plot/Plot";
import { Switch } from "@/shared/plot/Switch";
import { chartable, HELDOUT_ACCURACY, seriesKind, type SeriesKind } from "@/shared/series/catalog";
import { hasEnded } from "@/shared/state/state";
import type { Axis, Inks } from "./axes";
import { inEpochs, useStepsPerEpoch } from "./epochs";
import { AxisLegend } from "./AxisLegend";
import type { Selection } from "./selection";

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

  const byId = new Map(runs.map((run) => [run.id, run]));
  const drawn = [...curves.keys()].map((id) => byId.get(id));
  const lines = [...curves.keys()].map((id, place) => ({
    key: String(id),
    label: `Run ${id}`,
    dots: !kind.noisy && curves.size < 4,
    ...inks.of(drawn[place]),
  }));
  const choices = chartable([HELDOUT_ACCURACY, ...runs.flatMap((run) => Object.keys(run.latest))]);
  const lit = selection.lit?.size === 1 ? lines.findIndex((line) => selection.lit?.has(line.key)) : -1;
  const at = placeAt(sheet.ys[lit], index);
  const reading = readingOf(
    drawn[lit],
    kind.format(sheet.ys[lit]?.[at]),
    placeText(sheet.x[at] ?? 0, byEpoch),
  );
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
        {reading || (drawn.length ? "\u00a0" : `No run has measured its ${kind.title.toLowerCase()} yet.`)}
      </p>
      <Plot
        title={kind.title}
        height={360}
        lines={lines}
        sheet={sheet}
        reading={reading || `${drawn.length} curves`}
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

/** "Run 12, rate 0.4, batch 512: 93.10% at step 480", of the one curve that stands out. */
function readingOf(run: RunView | undefined, value: string, place: string): string {
  if (!run) return "";
  const values = valuesText(run.values);
  return `Run ${run.id}${values && `, ${values}`}: ${value} ${place}`;
}

function placeText(x: number, byEpoch: boolean): string {
  return byEpoch ? `after ${Number(x.toPrecision(3))} epochs` : `at step ${count(x)}`;
}

/** The crosshair's place, or the last one before it that has a value. */
function placeAt(column: Values | undefined, index: number | null): number {
  if (!column) return 0;
  let at = Math.min(index ?? column.length - 1, column.length - 1);
  while (at > 0 && typeof column[at] !== "number") at -= 1;
  return at;
}
