/** A panel of parallel coordinates: an axis for each field, a line for each run. */
import type { RunComparison } from "@/shared/api/types";
import { BOTTOM, ParallelPicture, TOP } from "@/shared/frame/ParallelPicture";
import { valueAxis } from "@/shared/frame/valueAxis";
import { classNames } from "@/shared/page/classNames";
import {
  fieldTitle,
  figureOf,
  groupFields,
  labelFields,
  metricNames,
  numberFields,
  optionsOf,
} from "../groups/fields";
import type { RunGroup } from "../groups/groups";
import type { RunData } from "../groups/runData";
import { PanelFrame } from "./PanelFrame";
import type { Panel, PanelProps } from "./panels";
import styles from "./ParallelPanel.module.css";

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

interface Props {
  fields: string[];
  offered: string[];
  onFields: (fields: string[]) => void;
}

/** The axes of parallel coordinates: each can move to the left and be removed, others are added. */
function AxisChoice({ fields, offered, onFields }: Props) {
  return (
    <>
      {fields.map((field, index) => (
        <AxisField key={field} {...{ field, index, fields, onFields }} />
      ))}
      <select
        className={classNames("textInput small", styles.axisSelect)}
        aria-label="Add an axis"
        value=""
        onChange={(event) => {
          onFields([...fields, event.target.value]);
        }}
      >
        <option value="">add an axis …</option>
        {optionsOf(offered.filter((field) => !fields.includes(field))).map(([field, text]) => (
          <option key={field} value={field}>
            {text}
          </option>
        ))}
      </select>
    </>
  );
}

interface FieldProps extends Omit<Props, "offered"> {
  field: string;
  index: number;
}

function AxisField({ field, index, fields, onFields }: FieldProps) {
  const title = fieldTitle(field);
  return (
    <span className={styles.axisField}>
      {index > 0 && (
        <button
          className="plain"
          aria-label={`Move ${title} to the left`}
          onClick={() => {
            onFields(fields.with(index - 1, field).with(index, fields[index - 1] ?? ""));
          }}
        >
          ←
        </button>
      )}
      {title}
      <button
        className="plain"
        aria-label={`Remove the axis ${title}`}
        onClick={() => {
          onFields(fields.filter((other) => other !== field));
        }}
      >
        ×
      </button>
    </span>
  );
}

export interface ParallelAxis {
  field: string;
  ticks: { at: number; text: string }[];
  place: (id: number) => number | null; // of a run in pixels; null without a value
}

const SEPARATOR = "\t"; // no name of a field has one

/** Return the fields of the axes; by default those that distinguish the runs, and the best value of the first metric. */
export function parallelFields(
  { options }: Panel,
  comparison: Pick<RunComparison, "runs" | "spec" | "metrics">,
): string[] {
  if (options.fields !== undefined) return options.fields.split(SEPARATOR).filter(Boolean);
  const [metric] = metricNames(comparison);
  return [
    ...labelFields(comparison),
    ...(metric === undefined ? ["duration"] : ["duration", figureOf("best", metric)]),
  ];
}

function fieldsText(fields: readonly string[]): string {
  return fields.join(SEPARATOR);
}

/** Return the axis of a field from `from` (the least value) to `to` pixels. */
function parallelAxis(
  data: RunData,
  ids: readonly number[],
  field: string,
  from: number,
  to: number,
): ParallelAxis {
  const values = ids.map((id) => data.value(id, field)).filter((value) => value !== null);
  const axis = valueAxis(values, from, to, {
    unit: (high) => data.unit(field, high),
    tick: (value, distance) => data.tick(field, value, distance),
    word: String,
  });
  return { field, ticks: axis.ticks, place: (id) => axis.place(data.value(id, field)) };
}
