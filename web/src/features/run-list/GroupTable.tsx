/** The table of groups: a row for each, with mean, deviation and range of the figures; a group opens to its runs. */
import { Fragment, type ReactNode } from "react";
import { errorText } from "@/shared/api/client";
import type { GroupFigure, RunGroup, RunGroups } from "@/shared/api/types";
import { formatCount, MISSING, pluralize } from "@/shared/format/number";
import { distinctTexts } from "@/shared/format/value";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import { cellText, isNumeric, metricOf, nextSort, titleOf } from "@/shared/run-table/columns";
import styles from "./GroupTable.module.css";
import { type AskedGroups, useRunGroups } from "./useRunGroups";

interface Props {
  asked: AskedGroups;
  every: number | false;
  open: string; // the query of the open group
  now: number;
  onSort: (sort: string) => void;
  onOpen: (where: string) => void;
  renderRuns: (group: RunGroup, label: string) => ReactNode;
}

export function GroupTable(props: Props) {
  const { asked, every } = props;
  const { data, error, isPlaceholderData } = useRunGroups(asked, every);
  if (!data) return <QueryStatus error={error} />;
  return (
    <div className="panel">
      <ScrollRegion className={styles.groupScroller} label="Groups of runs">
        <table className={styles.groupTable} aria-busy={isPlaceholderData}>
          <GroupHead data={data} sort={asked.sort} onSort={props.onSort} />
          <Body {...props} data={data} />
        </table>
      </ScrollRegion>
      <p className={styles.groupStatus} role="status">
        {statusText(data, error)}
      </p>
    </div>
  );
}

function statusText({ total, runs, groups }: RunGroups, error: Error | null): string {
  if (error) return `The groups are old: ${errorText(error)}.`;
  if (!total) return "No run matches.";
  const shown = groups.length < total ? `${formatCount(groups.length)} of ` : "";
  return `${shown}${pluralize(total, "group")} of ${pluralize(runs, "run")}`;
}

function Body({ data, ...props }: Props & { data: RunGroups }) {
  const scales = data.columns.map((_, place) => scaleOf(data.groups.map(({ figures }) => figures[place])));
  const fields = data.by.map((_, place) => textsOf(data, place, props.now));
  const columns = data.by.length + 1 + data.columns.length;
  return (
    <tbody>
      {data.groups.map((group, at) => {
        const texts = fields.map((own) => own[at] ?? "");
        const label = `Runs of ${data.by.map(({ name }, place) => `${name} ${texts[place] ?? ""}`).join(", ")}`;
        const isOpen = group.where !== null && group.where === props.open;
        return (
          <Fragment key={JSON.stringify(group.values)}>
            <GroupRow
              {...{ group, data, texts, label, scales, isOpen }}
              now={props.now}
              onOpen={props.onOpen}
            />
            {isOpen && (
              <tr>
                <td colSpan={columns} className={styles.groupRuns}>
                  {props.renderRuns(group, label)}
                </td>
              </tr>
            )}
          </Fragment>
        );
      })}
    </tbody>
  );
}

/** Return the texts of a field's values, one for each group; different ones of different values: of 1 and "1". */
export function textsOf(
  { by, groups }: Pick<RunGroups, "by" | "groups">,
  place: number,
  now: number,
): string[] {
  const field = by[place];
  if (!field) return [];
  const values = groups.map((group) => group.values[place] ?? null);
  const found = [...new Set(values)];
  const texts = distinctTexts(found, (value) => cellText(field.name, field, value, now));
  return values.map((value) => texts[found.indexOf(value)] ?? "");
}

interface RowProps {
  group: RunGroup;
  data: RunGroups;
  texts: string[]; // of the group's values
  label: string;
  scales: { low: number; high: number }[];
  isOpen: boolean;
  now: number;
  onOpen: (where: string) => void;
}

function GroupRow({ group, data, texts, label, scales, isOpen, now, onOpen }: RowProps) {
  const { where } = group;
  return (
    <tr className={classNames(isOpen && styles.openGroup)}>
      <th scope="row">
        <button
          className={classNames("plain", styles.opener)}
          aria-expanded={isOpen}
          aria-label={label}
          disabled={where === null}
          onClick={() => {
            onOpen(isOpen ? "" : (where ?? ""));
          }}
        >
          <span className={styles.openerMark} aria-hidden="true">
            {isOpen ? "▾" : "▸"}
          </span>
          {texts[0]}
        </button>
      </th>
      {data.by.slice(1).map((field, place) => (
        <td key={field.name} className={classNames(isNumeric(field) && "number")}>
          {texts[place + 1]}
        </td>
      ))}
      <td className="number">{formatCount(group.count)}</td>
      {data.columns.map((column, place) => (
        <td key={column.name} className="number">
          <FigureCell {...{ group, place, column, now }} scale={scales[place] ?? { low: 0, high: 0 }} />
        </td>
      ))}
    </tr>
  );
}

interface FigureProps {
  group: RunGroup;
  place: number;
  column: RunGroups["columns"][number];
  scale: { low: number; high: number };
  now: number;
}

function FigureCell({ group, place, column, scale, now }: FigureProps) {
  const figure = group.figures[place] ?? null;
  if (!figure) return MISSING;
  const text = (value: number) => cellText(column.name, column, value, now);
  const { mean, deviation, count, least, most } = figure;
  return (
    <span
      className={styles.figureCell}
      title={`${text(least)} to ${text(most)}, ${pluralize(count, "run")} with a value`}
    >
      <BandMark {...{ figure, scale }} />
      <span>
        {text(mean)}
        {deviation !== null && <span className="muted"> ± {text(deviation)}</span>}
        {count < group.count && <span className="muted"> ({count})</span>}
      </span>
    </span>
  );
}

interface GroupHeadProps {
  data: RunGroups;
  sort: string;
  onSort: (sort: string) => void;
}

const COUNT = { name: "count", title: "runs", isRight: true };

/** The headings of the table of groups: a click sorts the groups by a field, by their size, or by a mean. */
function GroupHead({ data, sort, onSort }: GroupHeadProps) {
  const heads = [
    ...data.by.map((field, place) => ({
      name: field.name,
      title: titleOf(field.name),
      isRight: place > 0 && isNumeric(field),
    })),
    COUNT,
    ...data.columns.map(({ name }) => ({ name, title: `mean of ${titleOf(name)}`, isRight: true })),
  ];
  return (
    <thead>
      <tr>
        {heads.map(({ name, title, isRight }) => (
          <th
            key={name}
            scope="col"
            className={classNames(isRight && "number")}
            aria-sort={sort === name ? "ascending" : sort === `-${name}` ? "descending" : undefined}
          >
            <button
              className={classNames("plain", styles.groupHead)}
              onClick={() => {
                onSort(nextSort(sort, name, metricOf(name)));
              }}
            >
              {title}
              {sort === name && <span aria-hidden="true"> ↑</span>}
              {sort === `-${name}` && <span aria-hidden="true"> ↓</span>}
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}

const WIDTH = 72;
const HEIGHT = 12;
const EDGE = 3; // at both ends

export interface Scale {
  low: number;
  high: number;
}

/** A small picture of a group's figure: its range, the mean with the deviation, on the scale of the whole column. */
function BandMark({ figure, scale }: { figure: GroupFigure; scale: Scale }) {
  const at = (value: number) => {
    const share = scale.high > scale.low ? (value - scale.low) / (scale.high - scale.low) : 0.5;
    return EDGE + Math.min(1, Math.max(0, share)) * (WIDTH - 2 * EDGE);
  };
  const { mean, deviation, least, most } = figure;
  const [from, to] = [at(mean - (deviation ?? 0)), at(mean + (deviation ?? 0))];
  return (
    <svg className={styles.bandMark} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <path className={styles.range} d={`M${at(least)} ${HEIGHT / 2}H${at(most)}`} />
      <rect className={styles.band} x={from} width={to - from} y={2} height={HEIGHT - 4} />
      <path className={styles.mean} d={`M${at(mean)} 1V${HEIGHT - 1}`} />
    </svg>
  );
}

/** Return the range of all groups' values of one figure. */
function scaleOf(figures: (GroupFigure | null | undefined)[]): Scale {
  const known = figures.filter((figure) => figure !== null && figure !== undefined);
  return {
    low: known.reduce((least, figure) => Math.min(least, figure.least), Infinity),
    high: known.reduce((most, figure) => Math.max(most, figure.most), -Infinity),
  };
}
