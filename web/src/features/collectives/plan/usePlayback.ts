/** A hand on the rounds of a plan: where it is, whether it plays, and the keys that move it. */
import { useEffect, useState } from "react";

const SLOWEST_MS = 900;
const QUICKEST_MS = 140;
const WHOLE_MS = 14_000; // about how long a plan takes to play, whatever its length

export function usePlayer(rounds: number) {
  const [at, setAt] = useState(0);
  const [wanted, setWanted] = useState(false);
  const playing = wanted && at < rounds;

  useEffect(() => {
    if (!playing) return;
    const pace_ms = Math.min(SLOWEST_MS, Math.max(QUICKEST_MS, WHOLE_MS / rounds));
    const timer = setTimeout(() => {
      setAt(at + 1);
    }, pace_ms);
    return () => {
      clearTimeout(timer);
    };
  }, [playing, at, rounds]);

  const go = (to: number) => {
    setWanted(false);
    setAt(Math.max(0, Math.min(rounds, to)));
  };
  const toggle = () => {
    if (!playing && at === rounds) setAt(0);
    setWanted(!playing);
  };
  useKeys({
    " ": toggle,
    ArrowLeft: () => {
      go(at - 1);
    },
    ArrowRight: () => {
      go(at + 1);
    },
    Home: () => {
      go(0);
    },
    End: () => {
      go(rounds);
    },
  });
  return { at, playing, go, toggle };
}

/** Keys that act wherever the reader is, save where a key has a meaning already. */
function useKeys(keys: Record<string, () => void>) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isTaken = (event.target as Element | null)?.closest("input, select, textarea, button, a");
      const act = keys[event.key];
      if (!act || isTaken || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => {
      window.removeEventListener("keydown", press);
    };
  });
}
