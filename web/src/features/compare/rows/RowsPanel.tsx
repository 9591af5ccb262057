/** A panel with a row for each group: the value to choose, one switch, and a picture of the first rows. */
import type { ReactNode } from "react";
import { Switch } from "@/shared/controls/Switch";
import type { CsvValue } from "@/shared/files/csv";
import { numberFields } from "../groups/fields";
import type { PanelProps } from "../panels/compared";
import { FieldChoice } from "../panels/FieldChoice";
import { PanelFrame } from "../panels/PanelFrame";
import { MOST_ROWS, type ValueRow } from "./rows";

interface Props extends Pick<PanelProps, "place" | "onOptions" | "ids" | "comparison"> {
  title: string;
  field: string;
  option: { name: string; label: string; isOn: boolean }; // the switch
  all: readonly ValueRow[];
  csv: () => CsvValue[][];
  children: (width: number, rows: readonly ValueRow[]) => ReactNode;
}

export function RowsPanel({ title, field, option, all, csv, children, ...panel }: Props) {
  const { place, onOptions, ids, comparison } = panel;
  const rows = all.slice(0, MOST_ROWS);
  return (
    <PanelFrame
      title={title}
      place={place}
      runs={ids}
      legend={[]}
      csv={csv}
      options={
        <>
          <FieldChoice
            label="Value"
            value={field}
            fields={numberFields(comparison)}
            onChange={(value) => {
              onOptions({ field: value });
            }}
          />
          <Switch
            on={option.isOn}
            onChange={(isOn) => {
              onOptions({ [option.name]: isOn ? "on" : "" });
            }}
          >
            {option.label}
          </Switch>
        </>
      }
      note={all.length > MOST_ROWS && `The first ${MOST_ROWS} of ${all.length} groups; the data have all.`}
      empty={rows.length ? null : "No visible run has this value."}
    >
      {(width) => children(width, rows)}
    </PanelFrame>
  );
}
