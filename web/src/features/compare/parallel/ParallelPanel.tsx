/** A panel of parallel coordinates: an axis for each field, a line for each run. */
import { BOTTOM, ParallelPicture, TOP } from "@/shared/frame/ParallelPicture";
import { fieldTitle, groupFields, numberFields } from "../groups/fields";
import type { RunGroup } from "../groups/groups";
import type { PanelProps } from "../panels/compared";
import { PanelFrame } from "../panels/PanelFrame";
import { AxisChoice } from "./AxisChoice";
import { fieldsText, parallelAxis, parallelFields } from "./parallel";

export function ParallelPanel({ panel, place, onOptions, ids, comparison, data, groups }: PanelProps) {
  const fields = parallelFields(panel, comparison);
  const runs = groups.visible.flatMap((group) => group.ids.map((id) => ({ id, group })));
  const onFields = (next: string[]) => {
    onOptions({ fields: fieldsText(next) });
  };
  const offered = [...new Set([...groupFields(comparison), ...numberFields(comparison)])];
  const axes = fields.map((field) =>
    parallelAxis(
      data,
      runs.map(({ id }) => id),
      field,
      BOTTOM,
      TOP,
    ),
  );
  return (
    <PanelFrame
      title="Parallel coordinates"
      place={place}
      runs={ids}
      legend={groups.visible}
      csv={() => [
        ["run", "group", ...fields],
        ...runs.map(({ id, group }) => [id, group.label, ...fields.map((field) => data.value(id, field))]),
      ]}
      options={<AxisChoice {...{ fields, offered, onFields }} />}
      empty={fields.length < 2 ? "Add two axes or more." : runs.length ? null : "No run is visible."}
    >
      {(width) => (
        <ParallelPicture
          width={width}
          axes={axes.map(({ field, ticks }) => ({ name: fieldTitle(field), ticks }))}
          lines={runs.map(({ id, group }) => ({
            id,
            label: labelOf(id, group),
            color: group.color,
            isFaded: groups.pointed !== null && groups.pointed !== group.key,
            places: axes.map((axis) => axis.place(id)),
          }))}
        />
      )}
    </PanelFrame>
  );
}

function labelOf(id: number, group: RunGroup): string {
  return group.ids.length > 1 ? `Run ${id} (${group.label})` : group.label;
}
