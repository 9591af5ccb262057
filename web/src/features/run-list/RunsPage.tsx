/** The page of all runs of all experiments: a query, columns, an order and groups, which the address holds. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useNow } from "@/shared/api/clock";
import { usePollInterval } from "@/shared/api/polling";
import type { FieldName, TablePage } from "@/shared/api/types";
import { Switch } from "@/shared/controls/Switch";
import { useLive } from "@/shared/live/useLive";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { PageHeader, useTitle } from "@/shared/page/PageHeader";
import { columnOf, RunLink } from "@/shared/run-table/cells";
import {
  columnsOfRows,
  defaultColumns,
  isFigure,
  isKnown,
  metricOf,
  nextSort,
} from "@/shared/run-table/columns";
import { ExportMenu } from "@/shared/run-table/ExportMenu";
import { RunTable } from "@/shared/run-table/RunTable";
import { SelectionBar } from "@/shared/run-table/SelectionBar";
import { useFieldNames } from "@/shared/run-table/useFieldNames";
import { type RowSelection, useRowSelection } from "@/shared/run-table/useRowSelection";
import { type Asked, rowsQuery } from "@/shared/run-table/useRunTable";
import { ViewsMenu } from "@/shared/views/ViewsMenu";
import { ColumnMenu, GroupMenu } from "./FieldMenu";
import { GroupTable } from "./GroupTable";
import { QueryField } from "./QueryField";
import styles from "./RunsPage.module.css";
import { type AskedGroups, useRunGroups } from "./useRunGroups";
import { type TableState, useTableState } from "./useTableState";

export function RunsPage() {
  useTitle("Runs");
  useLive({});
  const [state, change] = useTableState();
  const { names, isKnown: hasNames, error: noNames } = useFieldNames();
  const selection = useRowSelection();
  const { asked, columns, columnsOf, groups, error } = useShown(state);
  if (!hasNames && noNames) return <QueryStatus error={noNames} />;
  const table = { asked, columns, names, selection, change };
  return (
    <>
      <PageHeader
        title="Runs"
        action={
          <>
            <ViewsMenu page="runs" />
            <ExportMenu asked={{ ...asked, columns }} />
          </>
        }
      />
      <Toolbar {...{ state, change, columns, error }} />
      <SelectionBar selection={selection} columns={columns} />
      {groups && <Groups {...table} {...{ groups, columnsOf }} open={state.open} />}
      {state.group.length === 0 && <Table {...table} />}
    </>
  );
}

/** What is asked for, and the columns that any run has. */
function useShown(state: TableState) {
  const { names, isKnown: hasNames } = useFieldNames();
  const { where, q, sort, archived, group } = state;
  const wanted = state.columns ?? defaultColumns(names);
  // the rows and the names of the fields are asked for at the same time, so the service leaves out what no run has
  const asked: Asked = { where, q, sort, columns: wanted, archived, skipUnknown: true };
  const known = hasNames ? wanted.filter((column) => isKnown(column, names)) : null;
  const groups = group.length && known ? groupsOf(state, known, names) : null;
  const { error, page } = useFirstAnswer(asked, group.length > 0, groups);
  const columns = known ?? page?.columns.map(({ name }) => name) ?? [];
  // without a choice each table has the columns that say something of its own rows
  const columnsOf = (rows: TablePage | null) => (state.columns ? columns : columnsOfRows(columns, rows));
  return { asked, groups, error, columns: columnsOf(page), columnsOf };
}

function groupsOf(state: TableState, columns: string[], names: FieldName[]): AskedGroups {
  const { where, q, archived, group: by, groupSort: sort } = state;
  const figures = columns.filter((column) => isFigure(column, names) && !by.includes(column));
  return { where, q, archived, by, figures, sort };
}

interface TableProps {
  asked: Asked;
  columns: string[];
  names: FieldName[];
  selection: RowSelection;
  label?: string;
  change: (change: Partial<TableState>) => void;
}

function Table({ asked, columns, names, selection, label = "Runs", change }: TableProps) {
  const pollInterval = usePollInterval();
  const now = useNow(10_000);
  return (
    <RunTable
      label={label}
      asked={asked}
      columns={columns.map((column) => columnOf(column, names, now))}
      every={pollInterval(false)}
      selection={selection}
      onSort={(field) => {
        change({ sort: nextSort(asked.sort, field, metricOf(field)) });
      }}
      renderRun={(row) => <RunLink row={row} />}
    />
  );
}

interface GroupsProps extends TableProps {
  groups: AskedGroups;
  open: string; // the query of the open group
  columnsOf: (page: TablePage | null) => string[];
}

/** The same runs in groups; the open group has the table of its runs. */
function Groups({ groups, open, columnsOf, ...shown }: GroupsProps) {
  const { asked, change } = shown;
  const pollInterval = usePollInterval();
  const now = useNow(10_000);
  return (
    <GroupTable
      asked={groups}
      every={pollInterval(false)}
      open={open}
      now={now}
      onSort={(groupSort) => {
        change({ groupSort });
      }}
      onOpen={(query) => {
        change({ open: query });
      }}
      renderRuns={(group, label) => (
        <GroupRuns {...shown} {...{ label, columnsOf }} asked={{ ...asked, where: group.where ?? "" }} />
      )}
    />
  );
}

function GroupRuns({ columnsOf, ...shown }: TableProps & Pick<GroupsProps, "columnsOf">) {
  const { page } = useFirstAnswer(shown.asked, false, null);
  return <Table {...shown} columns={columnsOf(page)} />;
}

interface ToolbarProps {
  state: TableState;
  change: (change: Partial<TableState>) => void;
  columns: string[];
  error: Error | null;
}

function Toolbar({ state, change, columns, error }: ToolbarProps) {
  const { names } = useFieldNames();
  return (
    <search className={styles.runsToolbar}>
      <QueryField
        query={state.where}
        error={error}
        onQuery={(where) => {
          change({ where });
        }}
      />
      <ColumnMenu
        {...{ columns, names }}
        onColumns={(chosen) => {
          change({ columns: chosen });
        }}
      />
      <GroupMenu
        by={state.group}
        names={names}
        onBy={(group) => {
          change({ group, groupSort: "", open: "" });
        }}
      />
      <span className={styles.archiveSwitch}>
        <Switch
          on={state.archived}
          onChange={(archived) => {
            change({ archived });
          }}
        >
          archive
        </Switch>
        <Link href="/deleted">Deleted</Link>
      </span>
    </search>
  );
}

interface FirstAnswer {
  error: Error | null;
  page: TablePage | null; // null: no rows have come yet
}

/**
 * What the page itself needs of the answer that its table of runs or of groups gets: the error, and the known
 * columns.
 *
 * Ask for the first rows, if the runs are not in groups, or for the groups.
 */
function useFirstAnswer(asked: Asked, isGrouped: boolean, groups: AskedGroups | null): FirstAnswer {
  const rows = useQuery({
    ...rowsQuery(asked, 0),
    enabled: !isGrouped,
    placeholderData: keepPreviousData,
  });
  const grouped = useRunGroups(groups, false);
  if (isGrouped) return { error: grouped.error, page: null };
  return { error: rows.error, page: rows.data ?? null };
}
