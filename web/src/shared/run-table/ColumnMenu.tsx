/** The choice of the table's columns: any field of runs, and of metrics their figures. */
import type { FieldName } from "@/shared/api/types";
import { figureOf, metricOf } from "./columns";
import { FieldMenu } from "./FieldMenu";

interface Props {
  columns: string[];
  names: FieldName[];
  onColumns: (columns: string[] | null) => void;
}

const FIGURES = ["last", "best", "mean", "min", "max"];

export function ColumnMenu({ columns, names, onColumns }: Props) {
  return (
    <FieldMenu
      title="Columns"
      one="column"
      chosen={columns}
      fields={fieldsOf(names)}
      onChoose={onColumns}
      buttons={
        <button
          type="button"
          className="button"
          onClick={() => {
            onColumns(null);
          }}
        >
          Default columns
        </button>
      }
    />
  );
}

/** Return all fields that may be columns: metrics by their figures. */
function fieldsOf(names: FieldName[]): string[] {
  return names.flatMap(({ name, is_metric }) => {
    if (!is_metric) return [name];
    return FIGURES.map((figure) => figureOf(figure, name)).filter((field) => metricOf(field) !== null);
  });
}
