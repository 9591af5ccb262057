/** The playback of a plan: the current round, play and pause, and the keys that control it. */
import { useEffect, useState } from "react";
import { changeAddress, useAddress } from "@/shared/page/address";

const SLOWEST_MS = 900;
const FASTEST_MS = 140;
const TOTAL_MS = 14_000; // the approximate duration of a whole plan

export interface Playback {
  at: number; // rounds that are complete
  playing: boolean;
  seek: (to: number) => void; // also pauses
  toggle: () => void; // between play and pause
}

/** Return the playback; the address holds the round of a pause, so that a link shows the same messages. */
export function usePlayback(rounds: number): Playback {
  const paused = roundOf(useAddress(), rounds);
  const [played, setPlayed] = useState<number | null>(null); // the round while it plays
  const at = played ?? paused;

  useEffect(() => {
    if (played === null) return;
    const delay_ms = Math.min(SLOWEST_MS, Math.max(FASTEST_MS, TOTAL_MS / rounds));
    const timer = setTimeout(() => {
      const next = played + 1;
      if (next >= rounds) changeRound(rounds);
      setPlayed(next < rounds ? next : null);
    }, delay_ms);
    return () => {
      clearTimeout(timer);
    };
  }, [played, rounds]);

  const seek = (to: number) => {
    setPlayed(null);
    changeRound(Math.max(0, Math.min(rounds, to)));
  };
  const toggle = () => {
    if (played !== null) seek(played);
    else if (rounds) setPlayed(at === rounds ? 0 : at);
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
  return { at, playing: played !== null, seek, toggle };
}

/** Return the round of an address; it stays within the plan. */
function roundOf(address: URLSearchParams, rounds: number): number {
  const text = address.get("round") ?? "";
  return /^\d{1,9}$/.test(text) ? Math.min(rounds, Number(text)) : 0;
}

function changeRound(round: number): void {
  changeAddress({ round: round ? String(round) : "" });
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
