/** What the command palette finds: pages, actions on this page, saved views, clusters, experiments and runs. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { useClusters } from "@/features/clusters/clusters";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { toggleTheme } from "@/shared/theme/theme";
import { shownAddress, useViews } from "@/shared/views/views";

export interface Entry {
  kind: string; // "page", "run"
  text: string;
  act: (go: (path: string) => void) => void;
}

const PAGES: [string, string][] = [
  ["Experiments", "/"],
  ["Runs", "/runs"],
  ["Compare runs", "/compare"],
  ["Reports", "/reports"],
  ["New experiment", "/new"],
  ["Collectives", "/collectives"],
  ["Plan", "/plan"],
  ["Automation", "/automation"],
  ["Deleted", "/deleted"],
  ["Clusters", "/clusters"],
];
const MOST_FOUND = 8; // experiments of one search
const PAUSE_MS = 150; // after a key, before a search

/** Return the entries that have every word of the text, in the order of the kinds. */
export function useEntries(text: string): Entry[] {
  const { views } = useViews();
  const { data: clusters } = useClusters();
  const found = useExperimentsNamed(useSettled(text.trim()));
  const actions = useMemo(() => actionsOfPage(), []);
  const entries = [
    ...numbered(text.trim()),
    ...PAGES.map(([name, path]) => leading("page", name, path)),
    ...actions,
    ...views.map((view) => leading("view", view.name, shownAddress(view))),
    ...(clusters ?? []).map(({ kind }) => leading("cluster", kind, `/clusters#${kind}`)),
  ].filter((entry) => hasWords(`${entry.kind} ${entry.text}`, text));
  return [...entries, ...found];
}

function leading(kind: string, text: string, path: string): Entry {
  return {
    kind,
    text,
    act: (go) => {
      go(path);
    },
  };
}

/** A number is the id of a run or of an experiment. */
function numbered(text: string): Entry[] {
  const number = /^(?:run|experiment)?\s*#?(\d{1,9})$/i.exec(text)?.[1];
  if (number === undefined) return [];
  return [
    leading("run", `run ${number}`, `/runs/${number}`),
    leading("experiment", `experiment ${number}`, `/experiments/${number}`),
  ];
}

/** The buttons of the page, by their names, and the switch of the theme. */
function actionsOfPage(): Entry[] {
  const buttons = [...document.querySelectorAll<HTMLElement>("#main .button")].filter(
    (button) => !button.matches(":disabled") && button.offsetParent !== null && nameOf(button),
  );
  const first = new Map(buttons.map((button) => [nameOf(button), button] as const).reverse());
  const entries = [...first].reverse().map(([text, button]): Entry => ({
    kind: "action",
    text,
    act: () => {
      button.click();
    },
  }));
  return [...entries, { kind: "action", text: "Change the theme", act: toggleTheme }];
}

function nameOf(button: HTMLElement): string {
  return (button.getAttribute("aria-label") ?? button.textContent).replace("▾", "").trim();
}

export function hasWords(text: string, wanted: string): boolean {
  const words = wanted.toLowerCase().split(/\s+/);
  return words.every((word) => text.toLowerCase().includes(word));
}

function useExperimentsNamed(text: string): Entry[] {
  const query = { limit: MOST_FOUND, ...(text && { q: text.slice(0, 200) }) };
  const { data } = useQuery({
    queryKey: keys.experimentList({ palette: text }),
    queryFn: ({ signal }) => body(client.GET("/api/v1/experiments", { params: { query }, signal })),
  });
  return (data?.items ?? []).map(({ id, name }) => leading("experiment", name, `/experiments/${id}`));
}

/** Return the text after a pause of the typing. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(text);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [text]);
  return settled;
}
