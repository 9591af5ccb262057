/** The playback of a plan: the current round, play and pause, and the keys that control it. */
import { useEffect, useState } from "react";

const SLOWEST_MS = 900;
const FASTEST_MS = 140;
const TOTAL_MS = 14_000; // the approximate duration of a whole plan

export interface Playback {
  at: number; // rounds that are complete
  playing: boolean;
  seek: (to: number) => void; // also pauses
  toggle: () => void; // between play and pause
}

export function usePlayback(rounds: number): Playback {
  const [at, setAt] = useState(0);
  const [started, setStarted] = useState(false);
  const playing = started && at < rounds;

  useEffect(() => {
    if (!playing) return;
    const delay_ms = Math.min(SLOWEST_MS, Math.max(FASTEST_MS, TOTAL_MS / rounds));
    const timer = setTimeout(() => {
      setAt(at + 1);
    }, delay_ms);
    return () => {
      clearTimeout(timer);
    };
  }, [playing, at, rounds]);

  const seek = (to: number) => {
    setStarted(false);
    setAt(Math.max(0, Math.min(rounds, to)));
  };
  const toggle = () => {
    if (!playing && at === rounds) setAt(0);
    setStarted(!playing);
  };
  useKeys({
    " ": toggle,
    ArrowLeft: () => {
      seek(at - 1);
    },
    ArrowRight: () => {
      seek(at + 1);
    },
    Home: () => {
      seek(0);
    },
    End: () => {
      seek(rounds);
    },
  });
  return { at, playing, seek, toggle };
}

/** Bind keys on the whole page, except on elements that use these keys themselves. */
function useKeys(actions: Record<string, () => void>) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isControl = (event.target as Element | null)?.closest("input, select, textarea, button, a");
      const action = actions[event.key];
      if (!action || isControl || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      action();
    };
    window.addEventListener("keydown", press);
    return () => {
      window.removeEventListener("keydown", press);
    };
  });
}
