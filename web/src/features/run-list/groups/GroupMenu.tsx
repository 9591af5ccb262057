/** The choice of the fields whose values the runs of a group share. */
import type { FieldName } from "@/shared/api/types";
import { titleOf } from "@/shared/run-table/columns";
import { FieldMenu } from "@/shared/run-table/FieldMenu";

interface Props {
  by: string[];
  names: FieldName[];
  onBy: (by: string[]) => void;
}

const MOST_BY = 5; // fields of one grouping

export function GroupMenu({ by, names, onBy }: Props) {
  const fields = names
    .filter(({ kind, is_metric }) => !is_metric && kind !== "moment")
    .map(({ name }) => name);
  return (
    <FieldMenu
      title="Groups"
      label={by.length ? `Groups by ${by.map(titleOf).join(", ")}` : "Groups"}
      one="group field"
      chosen={by}
      fields={fields}
      most={MOST_BY}
      onChoose={onBy}
      buttons={
        <button
          type="button"
          className="button"
          onClick={() => {
            onBy([]);
          }}
        >
          No groups
        </button>
      }
    />
  );
}
