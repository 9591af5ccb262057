/** Panels as the address holds them: the kind of a picture and the reader's options for it. */
import type { RunComparison } from "@/shared/api/types";
import type { Groups } from "../groups/groups";
import type { RunData } from "../groups/runData";
import type { PanelPlace } from "./PanelFrame";

export const KINDS = ["curves", "scatter", "box", "bars", "parallel"] as const;
export type Kind = (typeof KINDS)[number];

export const KIND_TITLES: Record<Kind, string> = {
  curves: "Curves",
  scatter: "Scatter",
  box: "Box plot",
  bars: "Bars",
  parallel: "Parallel coordinates",
};

/** The options that a panel lacks have their defaults, which depend on the runs. */
export interface Panel {
  kind: Kind;
  options: Readonly<Record<string, string>>;
}

/** Return the text of a panel in the address. */
export function panelText({ kind, options }: Panel): string {
  return new URLSearchParams({ kind, ...options }).toString();
}

/** Return the panel of a text; null for one without a known kind. */
export function readPanel(text: string): Panel | null {
  const { kind, ...options } = Object.fromEntries(new URLSearchParams(text));
  return isKind(kind) ? { kind, options } : null;
}

function isKind(kind: string | undefined): kind is Kind {
  return KINDS.some((known) => known === kind);
}

/** Return the panel with changed options; an empty one goes back to its default. */
export function withOptions(panel: Panel, change: Record<string, string>): Panel {
  const options = Object.entries({ ...panel.options, ...change }).filter(([, value]) => value !== "");
  return { ...panel, options: Object.fromEntries(options) };
}

/** Return an option that must be one of `choices`; the first one is the default. */
export function oneOf<T extends string>(panel: Panel, name: string, choices: readonly [T, ...T[]]): T {
  return choices.find((choice) => choice === panel.options[name]) ?? choices[0];
}

/** Return the panels with one of them a place further up or down. */
export function moved(panels: readonly Panel[], at: number, by: 1 | -1): Panel[] {
  const [panel, other] = [panels[at], panels[at + by]];
  return panel && other ? panels.with(at, other).with(at + by, panel) : [...panels];
}

/** What every panel draws from. */
export interface Compared {
  ids: readonly number[];
  comparison: RunComparison;
  data: RunData;
  groups: Groups;
  isLive: boolean; // a run has not ended
}

export interface PanelProps extends Compared {
  panel: Panel;
  place: PanelPlace;
  onOptions: (change: Record<string, string>) => void;
}
