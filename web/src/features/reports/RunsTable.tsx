/** The table of a report's runs, with their figures of today. */
import { usePollInterval } from "@/shared/api/polling";
import type { ReportDetail } from "@/shared/api/types";
import { useNow } from "@/shared/api/clock";
import { useFieldNames } from "@/shared/run-table/useFieldNames";
import { columnOf, RunLink } from "@/shared/run-table/cells";
import { isKnown } from "@/shared/run-table/columns";
import { RunTable } from "@/shared/run-table/RunTable";
import { useState } from "react";

type Runs = Extract<ReportDetail["content"][number]["content"], { kind: "runs" }>;

export function RunsTable({ block }: { block: Runs }) {
  const { title, run_ids, columns } = block;
  const { names } = useFieldNames();
  const [sort, setSort] = useState("id");
  const pollInterval = usePollInterval();
  const now = useNow(10_000);
  const known = columns.filter((column) => isKnown(column, names));
  if (!run_ids.length) return <p className="muted">{title}: no runs.</p>;
  return (
    <>
      <h2>{title}</h2>
      <RunTable
        label={title}
        asked={{ where: "", q: "", sort, columns: known, archived: false, runs: run_ids }}
        columns={known.map((column) => columnOf(column, names, now))}
        every={pollInterval(false)}
        selection={null}
        onSort={setSort}
        renderRun={(row) => <RunLink row={row} />}
      />
    </>
  );
}
