/** The search of an experiment: its best trial, what may be done with it, pictures of its trials, and their table. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { usePollInterval } from "@/shared/api/polling";
import type { SearchDetail } from "@/shared/api/types";
import { formatPercent, pluralize } from "@/shared/format/number";
import { axisNames, valuesText } from "@/shared/format/value";
import { useRefresh } from "@/shared/lifecycle/changes";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { titleInText } from "@/shared/series/catalog";
import { BestPicture } from "./BestPicture";
import { LineagePicture } from "./LineagePicture";
import { PictureFrame } from "./PictureFrame";
import { SearchActions } from "./SearchActions";
import styles from "./SearchPanel.module.css";
import { TrialPicture } from "./TrialPicture";
import { metricFormat } from "./trials";
import { TrialTable } from "./TrialTable";

export function SearchPanel({ experimentId }: { experimentId: number }) {
  const { data, error } = useSearch(experimentId);
  const refresh = useRefresh(experimentId);
  if (!data) return <QueryStatus error={error} />;
  return (
    <>
      <section className={classNames("panel", styles.searchPanel)} aria-label="Search">
        <PanelHeader actions={<SearchActions search={data} refresh={refresh} />}>
          <h2>Search</h2>
          <span className="small muted">{statusText(data)}</span>
        </PanelHeader>
        <p className={styles.bestTrial}>{bestText(data)}</p>
        <div className={styles.searchPictures}>
          <BestPicture search={data} />
          <ImportanceBars search={data} />
        </div>
        {data.spec.sampler.kind === "population" && <LineagePicture search={data} />}
        <TrialPicture search={data} />
      </section>
      <TrialTable search={data} />
    </>
  );
}

const ENDS = { trials: "all trials ended", budget: "its rank-hours are used", request: "stopped on request" };

function statusText({ status, end_cause, trials, wanted, used_rank_hours, spec }: SearchDetail): string {
  const cause = end_cause ? ENDS[end_cause] : null;
  const limit = spec.budget ? ` of ${spec.budget.rank_hours}` : "";
  return [
    cause ? `ended: ${cause}` : status,
    `${spec.sampler.kind.replace("_", "-")} sampler`,
    `${trials.length} of ${pluralize(wanted, "trial")}`,
    `${Number(used_rank_hours.toPrecision(2))}${limit} rank-hours`,
  ].join(" · ");
}

function bestText({ best, spec }: SearchDetail): string {
  if (!best) return "No trial has a value yet.";
  const { title, format } = metricFormat(spec.metric);
  return `Best ${titleInText({ name: spec.metric, title })}: ${format(best.value)} with ${valuesText(best.params)} (trial ${best.number}).`;
}

/** The importance of each parameter, as bars. */
function ImportanceBars({ search }: { search: SearchDetail }) {
  const shares = Object.entries(search.importance);
  const names = axisNames(Object.keys(search.spec.space));
  const isEarly = search.spec.early_stopping.kind !== "none";
  return (
    <PictureFrame
      title="Importance of the parameters"
      search={search}
      csv={shares.length ? () => [["parameter", "importance"], ...shares] : null}
    >
      {shares.length ? (
        <>
          <ol className={styles.importances} aria-label="Importance of the parameters">
            {shares.map(([path, share]) => (
              <li key={path} className={styles.importance}>
                <span className={styles.importanceName} title={path}>
                  {names.get(path) ?? path}
                </span>
                <span className={styles.importanceTrack}>
                  <span className={styles.importanceBar} style={{ width: `${share * 100}%` }} />
                </span>
                <span className={styles.importanceValue}>{formatPercent(share, 0)}</span>
              </li>
            ))}
          </ol>
          <p className="small muted">
            {isEarly
              ? "PED-ANOVA of the values at the first comparison, which every trial has."
              : "PED-ANOVA of all trials that have ended."}
          </p>
        </>
      ) : (
        <p className="small muted">Shown from ten trials on.</p>
      )}
    </PictureFrame>
  );
}

/** GET /experiments/{id}/search: the trials of a search, the best so far, and what mattered. */
function useSearch(experimentId: number) {
  const pollInterval = usePollInterval();
  return useQuery({
    queryKey: keys.experimentSearch(experimentId),
    queryFn: ({ signal }) => {
      const params = { path: { experiment_id: experimentId } };
      return body(client.GET("/api/v1/experiments/{experiment_id}/search", { params, signal }));
    },
    refetchInterval: ({ state }) => pollInterval(state.data ? state.data.status === "running" : false),
  });
}
