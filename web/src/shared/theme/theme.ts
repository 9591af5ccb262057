/** The theme, light or dark: the system's preference until the reader chooses one. */
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const KEY = "theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
system.addEventListener("change", notify);

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, current);
}

/** Change to the other theme; store the choice unless it is the system's preference. */
export function toggleTheme(): void {
  const next: Theme = current() === "dark" ? "light" : "dark";
  if (next === systemTheme()) {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, next);
    document.documentElement.dataset.theme = next;
  }
  notify();
}

function current(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : systemTheme();
}

function systemTheme(): Theme {
  return system.matches ? "dark" : "light";
}

function notify(): void {
  listeners.forEach((listener) => {
    listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Return the value of a token of CSS, for pictures that CSS does not reach: `token("--muted")`. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}
