/** The groups in their colors: the pointer on one highlights it, a click hides or shows it. */
import { useState } from "react";
import { LegendEntry, LineSwatch } from "@/shared/plot/Legend";
import { classNames } from "@/shared/page/classNames";
import type { Groups, RunGroup } from "./groups";
import styles from "./GroupLegend.module.css";

const MOST_ENTRIES = 24; // before a click shows all

export function GroupLegend({ groups }: { groups: Groups }) {
  const [isUnfolded, setUnfolded] = useState(false);
  const shown = isUnfolded ? groups.all : groups.all.slice(0, MOST_ENTRIES);
  const more = groups.all.length - shown.length;
  return (
    <ul className={styles.groupLegend} aria-label="Legend">
      {shown.map((group) => (
        <li key={group.key}>
          <Entry group={group} groups={groups} />
        </li>
      ))}
      {more > 0 && (
        <li>
          <button
            className={classNames("plain small", styles.legendMore)}
            onClick={() => {
              setUnfolded(true);
            }}
          >
            {more} more
          </button>
        </li>
      )}
      {groups.hidden.size > 0 && (
        <li>
          <button className={classNames("plain small", styles.legendMore)} onClick={groups.showAll}>
            show all
          </button>
        </li>
      )}
    </ul>
  );
}

function Entry({ group, groups }: { group: RunGroup; groups: Groups }) {
  const { key, label, ids, color, dash } = group;
  return (
    <LegendEntry
      isShown={!groups.hidden.has(key)}
      onToggle={() => {
        groups.toggle(key);
      }}
      onPoint={() => {
        groups.point(key);
      }}
      onLeave={() => {
        groups.point(null);
      }}
    >
      <LineSwatch color={color} dash={dash} />
      {label}
      {groups.fields.length > 0 && <span className="small muted">{ids.length}</span>}
    </LegendEntry>
  );
}
