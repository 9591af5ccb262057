/** The series beyond those that a run's page opens with: a page of charts at a time, and a search by name. */
import { useMemo } from "react";
import type { RunDetail } from "@/shared/api/types";
import { TextField } from "@/shared/controls/TextField";
import type { StepRange } from "@/shared/curves/view";
import { formatCount } from "@/shared/format/number";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { changeAddress, useAddress } from "@/shared/page/address";
import { PanelHeader } from "@/shared/panel/PanelHeader";
import { hasCurve, seriesKind } from "@/shared/series/catalog";
import { groupByRank } from "@/shared/series/ranks";
import { systemOf } from "@/shared/series/system";
import type { Place } from "../api/usePlace";
import { MOST_SERIES, useNamedSeries } from "../api/useNamedSeries";
import type { Points } from "../api/usePoints";
import { SeriesChart } from "../charts/SeriesChart";
import styles from "./MoreSeries.module.css";

interface Props {
  run: RunDetail;
  points: Points; // with the series that are shown already
  range: StepRange;
  place: Place;
}

export function MoreSeries({ run, points, range, place }: Props) {
  const address = useAddress();
  const find = address.get("find") ?? "";
  const rest = useMemo(() => restOf(run.series, points.series), [run.series, points.series]);
  if (points.isPending || !rest.length) return null;
  const found = rest.filter((name) => name.toLowerCase().includes(find.trim().toLowerCase()));
  const pages = Math.max(1, Math.ceil(found.length / MOST_SERIES));
  const page = Math.min(Math.max(1, Number(address.get("page") ?? 1) || 1), pages);
  const names = found.slice((page - 1) * MOST_SERIES, page * MOST_SERIES);
  return (
    <section aria-label="More series">
      <PanelHeader>
        <h2>{formatCount(rest.length)} more series</h2>
      </PanelHeader>
      <div className={styles.moreControls}>
        <TextField
          label="Find a series"
          value={find}
          onChange={(text) => {
            changeAddress({ find: text, page: "" });
          }}
        />
        <PageButtons {...{ page, pages }} count={found.length} />
      </div>
      <Charts {...{ run, names, range, place }} />
    </section>
  );
}

/** Return the series beyond those of the first answer; a few new ones of a live run arrive with its next answer. */
function restOf(names: readonly string[], shown: Points["series"]): string[] {
  const own = names.filter((name) => !systemOf(name));
  return own.length > MOST_SERIES ? own.filter((name) => !(name in shown) && hasCurve(name)) : [];
}

function PageButtons({ page, pages, count }: { page: number; pages: number; count: number }) {
  if (!count) return <p className="muted">No series has such a name.</p>;
  const first = (page - 1) * MOST_SERIES + 1;
  const show = (next: number) => () => {
    changeAddress({ page: next > 1 ? String(next) : "" }, true);
  };
  return (
    <p className={styles.morePages}>
      <span className="small muted">
        {first} to {Math.min(count, first + MOST_SERIES - 1)} of {count}
      </span>
      {pages > 1 && (
        <>
          <button className="button small" disabled={page === 1} onClick={show(page - 1)}>
            Previous
          </button>
          <button className="button small" disabled={page === pages} onClick={show(page + 1)}>
            Next
          </button>
        </>
      )}
    </p>
  );
}

interface ChartsProps extends Omit<Props, "points"> {
  names: readonly string[];
}

function Charts({ run, names, range, place }: ChartsProps) {
  const { data, error } = useNamedSeries(run, names, place.stepsOf(range));
  const series = useMemo(() => data && place.series(data), [data, place]);
  const groups = useMemo(() => groupByRank(names), [names]);
  const isSmoothed = useAddress().get("smooth") !== "off";
  if (!series) return <QueryStatus error={error} />;
  return (
    <div className={styles.moreCharts}>
      {groups.map(({ base, names: ofRanks }) => (
        <SeriesChart
          key={base}
          title={seriesKind(base).title}
          names={ofRanks}
          {...{ series, range }}
          run={run.id}
          sync={`run-${run.id}`}
          xMax={place.last}
          unit={place.unit}
          smoothed={isSmoothed}
          restarts={place.of(run.restarts.map(({ step }) => step))}
        />
      ))}
    </div>
  );
}
