/** Light or dark: the system's wish until the reader has one. */
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const KEY = "theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
system.addEventListener("change", tell);

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, current);
}

/** Change to the other theme; remembered unless it is what the system wishes anyway. */
export function toggleTheme(): void {
  const wish: Theme = current() === "dark" ? "light" : "dark";
  if (wish === systemTheme()) {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, wish);
    document.documentElement.dataset.theme = wish;
  }
  tell();
}

function current(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : systemTheme();
}

function systemTheme(): Theme {
  return system.matches ? "dark" : "light";
}

function tell(): void {
  listeners.forEach((listener) => {
    listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
