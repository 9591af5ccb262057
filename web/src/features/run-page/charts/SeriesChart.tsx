/** One chart of the run page: its series, and above it their values at the crosshair or the newest ones. */
import { type ReactNode, useMemo, useState } from "react";
import type { Column } from "@/shared/api/types";
import { overlay, type Sheet, smooth } from "@/shared/curves/column";
import { count, tick } from "@/shared/format/number";
import { category } from "@/shared/plot/palette";
import { Plot } from "@/shared/plot/Plot";
import { Swatch } from "@/shared/plot/LineSwatch";
import type { Line } from "@/shared/plot/view";
import { seriesKind } from "@/shared/series/catalog";
import { type Theme, useTheme } from "@/shared/theme/theme";
import type { Series } from "@/features/run-page/api/usePoints";

interface Props {
  title: string;
  names: string[];
  series: Series;
  sync: string;
  span: number; // steps taken: how far x goes
  marks: readonly number[]; // steps from which an attempt went on
  smoothed?: boolean;
  logarithmic?: boolean;
  children?: ReactNode;
}

interface Layer {
  column: Column;
  line: Line;
  told: number | null; // its series' place among `names`, where its values are told
}

export function SeriesChart({
  title,
  names,
  series,
  sync,
  span,
  marks,
  smoothed = false,
  logarithmic = false,
  children,
}: Props) {
  const theme = useTheme();
  const [index, setIndex] = useState<number | null>(null);
  const shown = useMemo(() => names.filter((name) => series[name]?.steps.length), [names, series]);
  const layers = useMemo(
    () => shown.flatMap((name, place) => layersOf(name, place, series[name], smoothed, theme)),
    [shown, series, smoothed, theme],
  );
  const sheet = useMemo(() => overlay(layers.map((layer) => layer.column)), [layers]);
  const kinds = shown.map(seriesKind);
  const told = layers.flatMap((layer, at) =>
    layer.told === null ? [] : [{ ...layer, at, kind: kinds[layer.told] }],
  );
  const texts = told.map(({ kind, at }) => kind?.format(valueAt(sheet, at, index)) ?? "");
  const [first] = kinds;
  return (
    <section className="panel chart" aria-label={title}>
      <header className="chart-head">
        <h2>{title}</h2>
        <div className="chart-values">
          {told.map(({ line, kind }, at) => (
            <span key={line.key}>
              {told.length > 1 && <Swatch color={line.color} dash={line.dash} />}
              {told.length > 1 && <span className="muted">{kind?.title} </span>}
              <b>{texts[at]}</b>
            </span>
          ))}
          {index !== null && <span className="muted small">step {count(sheet.x[index] ?? 0)}</span>}
        </div>
        <div className="switches">{children}</div>
      </header>
      <Plot
        title={title}
        height={200}
        lines={layers.map((layer) => layer.line)}
        sheet={sheet}
        reading={told.map(({ kind }, at) => `${kind?.title ?? ""} ${texts[at] ?? ""}`).join(", ")}
        tick={first?.ceiling === 1 ? (value) => `${tick(value * 100)}%` : tick}
        logarithmic={logarithmic}
        {...(first?.ceiling === undefined ? {} : { ceiling: first.ceiling })}
        sync={sync}
        span={span}
        marks={marks}
        onIndex={setIndex}
      />
    </section>
  );
}

/** A noisy series is drawn twice: faintly as it is, and smoothed. */
function layersOf(
  name: string,
  place: number,
  column: Column | undefined,
  smoothed: boolean,
  theme: Theme,
): Layer[] {
  if (!column) return [];
  const kind = seriesKind(name);
  const color = category(place, theme);
  const line = { key: name, label: kind.title, color };
  if (!kind.noisy) return [{ column, told: place, line: { ...line, dots: true } }];
  if (!smoothed) return [{ column, told: place, line }];
  return [
    { column, told: null, line: { ...line, key: `${name} raw`, behind: true } },
    { column: smooth(column), told: place, line },
  ];
}

/** The value at the crosshair, or the last one before it. */
function valueAt(sheet: Sheet, at: number, index: number | null): number | null {
  const values = sheet.ys[at] ?? [];
  let place = Math.min(index ?? values.length - 1, values.length - 1);
  while (place > 0 && values[place] === undefined) place -= 1;
  return values[place] ?? null;
}
