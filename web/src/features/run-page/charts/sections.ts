/** The charts of a run, in sections by the beginnings of their names: train/, val/. */
import type { RunDetail } from "@/shared/api/types";
import {
  BATCH,
  COMMUNICATION_S,
  COMPUTE_S,
  EPOCH,
  hasCurve,
  HELDOUT_ACCURACY,
  HELDOUT_LOSS,
  IDLE_S,
  INPUT_S,
  KFAC_PARTS,
  LOSS,
  PEAK_MEMORY_BYTES,
  RATE,
  SAMPLES_PER_S,
  seriesKind,
  UPDATE_S,
} from "@/shared/series/catalog";
import { keySeries } from "@/shared/series/keySeries";
import { groupByRank } from "@/shared/series/names";
import type { Series } from "../series";

/** A chart: a title and the series in it. */
export interface Group {
  title: string;
  names: string[];
}

export interface Section {
  title: string; // "train/"; empty for series without a prefix
  groups: Group[];
}

const PARTS = [COMPUTE_S, UPDATE_S, COMMUNICATION_S, INPUT_S, IDLE_S]; // the panel of the step's time shows these
const STANDARD: Group[] = [
  { title: "Loss", names: [LOSS, HELDOUT_LOSS] },
  { title: "Held-out accuracy", names: [HELDOUT_ACCURACY] },
  { title: "Learning rate", names: [RATE] },
  { title: "Samples/s", names: [SAMPLES_PER_S] },
];
const STANDARD_NAMES = STANDARD.flatMap((group) => group.names);
const ELSEWHERE = new Set([...PARTS, ...KFAC_PARTS, BATCH, PEAK_MEMORY_BYTES, EPOCH]); // of the engine

/** Return the sections of a run that reports series of these names; those without a prefix are the first one. */
export function sectionsOf(
  kind: RunDetail["spec"]["kind"],
  names: readonly string[],
  series: Series,
): Section[] {
  const sections = new Map<string, Group[]>();
  for (const group of groupsOf(kind, names, series)) {
    const title = prefixOf(group.names[0] ?? "");
    sections.set(title, [...(sections.get(title) ?? []), group]);
  }
  const found = [...sections].map(([title, groups]) => ({ title, groups }));
  return found.toSorted((one, other) => Number(Boolean(one.title)) - Number(Boolean(other.title)));
}

/** Return the sections with the charts of which a name contains the text. */
export function search(sections: readonly Section[], text: string): Section[] {
  const wanted = text.trim().toLowerCase();
  const isFound = ({ title, names }: Group) =>
    [title, ...names].some((one) => one.toLowerCase().includes(wanted));
  return sections
    .map(({ title, groups }) => ({ title, groups: groups.filter(isFound) }))
    .filter(({ groups }) => groups.length > 0);
}

function prefixOf(name: string): string {
  const end = name.indexOf("/");
  return end > 0 && !/^rank-\d+$/.test(name.slice(end + 1)) ? name.slice(0, end + 1) : "";
}

/** Return the charts of a run: those of every engine run, the batch if it changes, and one for each other series. */
function groupsOf(kind: RunDetail["spec"]["kind"], names: readonly string[], series: Series): Group[] {
  const isEngine = kind === "engine";
  const ordered = isEngine ? [] : keySeries(names, names.length);
  const isOwn = (base: string) => !STANDARD_NAMES.includes(base) && !(isEngine && ELSEWHERE.has(base));
  const own = groupByRank(new Set([...ordered, ...names]))
    .filter(({ base }) => isOwn(base) && hasCurve(base, isEngine))
    .map((group) => ({ title: seriesKind(group.base).title, names: group.names }));
  return isEngine ? [...STANDARD, ...engineGroups(series), ...own] : [...programGroups(names), ...own];
}

function engineGroups(series: Series): Group[] {
  const parts = KFAC_PARTS.filter((name) => series.has(name));
  const isBatchFixed = new Set(series.get(BATCH)?.envelope.values).size <= 1;
  return [
    ...(parts.length ? [{ title: "Time of K-FAC, in compute and update", names: parts }] : []),
    ...(isBatchFixed ? [] : [{ title: "Batch", names: [BATCH] }]),
  ];
}

/** Return the charts of the engine that a program has reported values for, with the series of its ranks. */
function programGroups(present: readonly string[]): Group[] {
  const ranks = groupByRank(present);
  return STANDARD.map(({ title, names }) => ({
    title,
    names: names.flatMap((name) => ranks.find(({ base }) => base === name)?.names ?? []),
  })).filter(({ names }) => names.length);
}
