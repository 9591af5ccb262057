/** The page that compares chosen runs of any experiments: curves, pictures of figures, best values, differences. */
import { skipToken, useQuery } from "@tanstack/react-query";
import { body, client, errorText } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { pollInterval } from "@/shared/api/polling";
import type { RunComparison } from "@/shared/api/types";
import { pluralize } from "@/shared/format/number";
import { useLive } from "@/shared/live/useLive";
import { EmptyState } from "@/shared/messages/EmptyState";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { PageHeader, useTitle } from "@/shared/page/PageHeader";
import { MOST_COMPARED } from "@/shared/run-table/addresses";
import { hasEnded } from "@/shared/state/state";
import { ViewsMenu } from "@/shared/views/ViewsMenu";
import styles from "./ComparePage.module.css";
import { metricNames } from "./groups/fields";
import { GroupControl } from "./groups/GroupControl";
import { GroupLegend } from "./groups/GroupLegend";
import { groupingOf, type Groups, useGroups } from "./groups/groups";
import { type RunData, useRunData } from "./groups/runData";
import { defaultPanels, fieldsOfPanels, fieldsOfValues } from "./panels/ComparePanel";
import { PanelGrid } from "./panels/PanelGrid";
import type { Panel } from "./panels/panels";
import { RunChoice } from "./RunChoice";
import { DifferenceTable } from "./tables/DifferenceTable";
import { ValueTable } from "./tables/ValueTable";
import { type CompareState, useChosenRuns, useCompareState } from "./useCompareState";

const MOST_FIELDS = 60; // columns of one request

export function ComparePage() {
  const [state, change] = useCompareState();
  useLive({});
  const { ids, total, error: chosenError } = useChosenRuns(state);
  const { data, error } = useComparison(ids);
  useTitle(ids?.length ? `Compare ${pluralize(ids.length, "run")}` : "Compare");
  if (ids && !ids.length)
    return (
      <>
        <PageHeader title="Compare" />
        <EmptyState title={state.where ? "No run matches the query" : "No runs are chosen"}>
          <RunChoice runs={[]} change={change} />
        </EmptyState>
      </>
    );
  if (!data) return <QueryStatus error={chosenError ?? error} />;
  return <Comparison {...{ state, change, total }} comparison={data} />;
}

interface Props {
  state: CompareState;
  change: (change: Partial<CompareState>) => void;
  total: number; // of the query
  comparison: RunComparison;
}

function Comparison({ state, change, total, comparison }: Props) {
  const ids = comparison.runs;
  const metric = state.metric || (metricNames(comparison)[0] ?? "");
  const panels = state.panels ?? defaultPanels(comparison);
  const grouping = groupingOf(comparison, state.group);
  const { data, isKnown, error } = useRunData(ids, fieldsOf(comparison, grouping, metric, panels));
  const groups = useGroups(data, ids, grouping);
  const isLive = data.rows.some((row) => !hasEnded(row.state));
  if (!isKnown) return <QueryStatus error={error} />;
  return (
    <>
      <PageHeader
        title="Compare"
        action={<ViewsMenu page="compare" />}
        description={descriptionOf(ids, data.rows, total)}
      >
        <RunChoice runs={ids} change={change} />
      </PageHeader>
      <GroupControl
        comparison={comparison}
        fields={grouping.fields}
        onFields={(group) => {
          change({ group });
        }}
      />
      <GroupLegend groups={groups} />
      {error && <p role="alert">The figures are old: {errorText(error)}.</p>}
      <PanelGrid
        {...{ ids, comparison, data, groups, isLive, panels }}
        onPanels={(next) => {
          change({ panels: next });
        }}
      />
      <Tables {...{ comparison, data, groups, metric, change }} />
    </>
  );
}

/** Return the fields of the table of runs that the page shows. */
function fieldsOf(
  comparison: RunComparison,
  { fields, labels }: { fields: string[]; labels: string[] },
  metric: string,
  panels: Panel[],
): string[] {
  const wanted = [...fields, ...labels, ...fieldsOfValues(metric), ...fieldsOfPanels(panels, comparison)];
  return [...new Set(wanted)].slice(0, MOST_FIELDS);
}

interface TablesProps {
  comparison: RunComparison;
  data: RunData;
  groups: Groups;
  metric: string;
  change: Props["change"];
}

function Tables({ comparison, data, groups, metric, change }: TablesProps) {
  return (
    <div className={styles.compareTables}>
      {metric ? (
        <ValueTable
          {...{ comparison, data, metric }}
          groups={groups.visible}
          onMetric={(name) => {
            change({ metric: name });
          }}
        />
      ) : (
        <p className="muted">No run has reported a metric yet.</p>
      )}
      <DifferenceTable
        comparison={comparison}
        grouped={groups.fields}
        onGroup={(field) => {
          change({ group: [...groups.fields, field] });
        }}
      />
    </div>
  );
}

/** Return "12 runs of 2 experiments", and how many of a query are left out. */
function descriptionOf(
  ids: readonly number[],
  rows: readonly { experiment_id: number }[],
  total: number,
): string {
  const experiments = new Set(rows.map(({ experiment_id }) => experiment_id)).size;
  const text = `${pluralize(ids.length, "run")} of ${pluralize(experiments, "experiment")}`;
  return total > MOST_COMPARED
    ? `${text}: the newest of ${total.toLocaleString("en-US")} runs of the query`
    : text;
}

/** GET /runs/comparison: what differs between the runs, and the metrics that they have. */
function useComparison(ids: number[] | null) {
  return useQuery({
    queryKey: keys.comparison(ids ?? []),
    queryFn: ids?.length
      ? ({ signal }) =>
          body(client.GET("/api/v1/runs/comparison", { params: { query: { run: ids } }, signal }))
      : skipToken,
    refetchInterval: ({ state }) => (state.data?.metrics.length === 0 ? pollInterval(false) : false),
    retry: false,
  });
}
