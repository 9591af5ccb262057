/** The groups of the compared runs, which of them are hidden, as the address has it, and at which the reader points. */
import { useMemo, useState } from "react";
import type { RunComparison } from "@/shared/api/types";
import { changeAddress, currentAddress, useAddress } from "@/shared/page/address";
import { useTheme } from "@/shared/theme/theme";
import { defaultGroup, labelFields } from "./fields";
import { groupRuns, type RunGroup } from "./groups";
import type { RunData } from "./runData";

export interface Groups {
  all: readonly RunGroup[];
  visible: readonly RunGroup[];
  fields: readonly string[]; // by which the runs are grouped
  hidden: ReadonlySet<string>;
  pointed: string | null; // the key of a group
  toggle: (key: string) => void;
  showAll: () => void;
  point: (key: string | null) => void;
}

/** Return the fields by which runs are grouped, and those that label single runs. */
export function groupingOf(
  comparison: RunComparison,
  chosen: string[] | null,
): { fields: string[]; labels: string[] } {
  const fields = chosen ?? defaultGroup(comparison);
  return { fields, labels: fields.length ? [] : labelFields(comparison) };
}

const HIDDEN = "hidden"; // a parameter of the address for each key

export function useGroups(
  data: RunData,
  ids: readonly number[],
  { fields, labels }: { fields: string[]; labels: string[] },
): Groups {
  const theme = useTheme();
  const keys = JSON.stringify(useAddress().getAll(HIDDEN));
  const [pointed, point] = useState<string | null>(null);
  const names = JSON.stringify([fields, labels]);
  const all = useMemo(() => {
    const [group, label] = JSON.parse(names) as [string[], string[]];
    return groupRuns(data, ids, group, label, theme);
  }, [data, ids, names, theme]);
  const hidden = useMemo(() => {
    const known = new Set(all.map(({ key }) => key));
    return new Set((JSON.parse(keys) as string[]).filter((key) => known.has(key)));
  }, [all, keys]);
  const visible = useMemo(() => all.filter(({ key }) => !hidden.has(key)), [all, hidden]);
  return { all, visible, fields, hidden, pointed, toggle, showAll, point };
}

function toggle(key: string): void {
  const before = currentAddress().getAll(HIDDEN);
  const others = before.filter((one) => one !== key);
  changeAddress({ [HIDDEN]: others.length < before.length ? others : [...others, key] });
}

function showAll(): void {
  changeAddress({ [HIDDEN]: "" });
}
