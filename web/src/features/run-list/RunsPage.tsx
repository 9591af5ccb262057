/** The page of all runs of all experiments: a query, columns and an order, which the address holds. */
import { useState } from "react";
import { pollInterval } from "@/shared/api/polling";
import { Switch } from "@/shared/controls/Switch";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { PageHeader } from "@/shared/page/PageHeader";
import { useNow } from "@/shared/page/useNow";
import { useTitle } from "@/shared/page/useTitle";
import { csvOf, saveText } from "@/shared/run-table/actions/exportCsv";
import { SelectionBar } from "@/shared/run-table/actions/SelectionBar";
import { useFieldNames } from "@/shared/run-table/api/useFieldNames";
import { type Asked, fetchAllRows } from "@/shared/run-table/api/useRunTable";
import { columnOf, RunLink } from "@/shared/run-table/cells";
import { ColumnMenu } from "@/shared/run-table/ColumnMenu";
import { DEFAULT_COLUMNS, isKnown, metricOf, nextSort } from "@/shared/run-table/columns";
import { QueryField } from "@/shared/run-table/query/QueryField";
import { RunTable } from "@/shared/run-table/RunTable";
import { useQueryError } from "@/shared/run-table/useQueryError";
import { useRowSelection } from "@/shared/run-table/useRowSelection";
import { type TableState, useTableState } from "@/shared/run-table/useTableState";
import styles from "./RunsPage.module.css";

const MOST_EXPORTED = 100_000; // rows of a file

export function RunsPage() {
  useTitle("Runs");
  const { isKnown: hasNames, error } = useFieldNames();
  if (!hasNames) return <QueryStatus error={error} />;
  return <Runs />;
}

function Runs() {
  const [state, change] = useTableState();
  const { names } = useFieldNames();
  const selection = useRowSelection();
  const now = useNow(10_000);
  const columns = (state.columns ?? DEFAULT_COLUMNS).filter((column) => isKnown(column, names));
  const { where, q, sort, archived } = state;
  const asked: Asked = { where, q, sort, columns, archived };
  const error = useQueryError(asked);
  return (
    <>
      <PageHeader title="Runs" action={<Export asked={asked} />} />
      <Toolbar {...{ state, change, columns, error }} />
      <SelectionBar selection={selection} />
      <RunTable
        label="Runs"
        asked={asked}
        columns={columns.map((column) => columnOf(column, names, now))}
        every={pollInterval(false)}
        selection={selection}
        onSort={(field) => {
          change({ sort: nextSort(sort, field, metricOf(field)) });
        }}
        renderRun={(row) => <RunLink row={row} />}
      />
    </>
  );
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
      <span className={styles.archiveSwitch}>
        <Switch
          on={state.archived}
          onChange={(archived) => {
            change({ archived });
          }}
        >
          archive
        </Switch>
      </span>
    </search>
  );
}

/** Save all rows of the query, not those in view alone. */
function Export({ asked }: { asked: Asked }) {
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      saveText("runs.csv", csvOf(asked.columns, await fetchAllRows(asked, MOST_EXPORTED)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <button className="button" disabled={isBusy} onClick={() => void save()}>
      {isBusy ? "Exporting …" : "Export CSV"}
    </button>
  );
}
