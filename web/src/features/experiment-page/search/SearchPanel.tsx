/** The search of an experiment: its best trial, what may be done with it, pictures of its trials, and their table. */
import type { SearchDetail } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { valuesText } from "@/shared/format/value";
import { useRefresh } from "@/shared/lifecycle/changes";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import { titleInText } from "@/shared/series/catalog";
import { useSearch } from "../api/useSearch";
import { BestPicture } from "./BestPicture";
import { ImportanceBars } from "./ImportanceBars";
import { LineagePicture } from "./LineagePicture";
import { SearchActions } from "./SearchActions";
import styles from "./SearchPanel.module.css";
import { metricFormat } from "./trials";
import { TrialPicture } from "./TrialPicture";
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
