/** The controls of a playback: buttons, slider and the number of the round. */
import { useEffect, useState } from "react";
import { changeAddress, useAddress } from "@/shared/page/address";
import { classNames } from "@/shared/page/classNames";
import styles from "./PlaybackControls.module.css";

interface Props {
  playback: Playback;
  rounds: number;
  description: string; // of the current round
}

export function PlaybackControls({ playback, rounds, description }: Props) {
  const { at, playing, seek, toggle } = playback;
  return (
    <div className={styles.controls}>
      <SeekButton label="First" path="M5 4v12M15 4 7 10l8 6z" disabled={at === 0} to={0} {...{ seek }} />
      <SeekButton label="Back" path="M13 4 5 10l8 6z" disabled={at === 0} to={at - 1} {...{ seek }} />
      <StepButton
        label={playing ? "Pause" : "Play"}
        path={playing ? "M6 4v12M14 4v12" : "M6 3.5 16 10 6 16.5z"}
        disabled={!rounds}
        onPress={toggle}
      />
      <SeekButton label="Next" path="M7 4l8 6-8 6z" disabled={at === rounds} to={at + 1} {...{ seek }} />
      <SeekButton
        label="Last"
        path="M15 4v12M5 4l8 6-8 6z"
        disabled={at === rounds}
        to={rounds}
        {...{ seek }}
      />
      <input
        type="range"
        aria-label="Round"
        aria-valuetext={description}
        min={0}
        max={rounds}
        value={at}
        onChange={(event) => {
          seek(Number(event.target.value));
        }}
      />
      <output className="small">
        {at} / {rounds}
      </output>
    </div>
  );
}

interface ButtonProps {
  label: string;
  path: string; // of the icon
  disabled: boolean;
}

function SeekButton({ to, seek, ...button }: ButtonProps & { to: number; seek: Playback["seek"] }) {
  return (
    <StepButton
      {...button}
      onPress={() => {
        seek(to);
      }}
    />
  );
}

function StepButton({ label, path, disabled, onPress }: ButtonProps & { onPress: () => void }) {
  return (
    <button
      className={classNames("button", styles.stepButton)}
      aria-label={label}
      title={label}
      onClick={onPress}
      disabled={disabled}
    >
      <svg viewBox="0 0 20 20" width="16" height="16" aria-hidden="true">
        <path d={path} />
      </svg>
    </button>
  );
}

const SLOWEST_MS = 900;
const FASTEST_MS = 140;
const TOTAL_MS = 14_000; // the approximate duration of a whole plan

interface Playback {
  at: number; // rounds that are complete
  playing: boolean;
  seek: (to: number) => void; // also pauses
  toggle: () => void; // between play and pause
}

/**
 * The playback of a plan: the current round, play and pause, and the keys that control it.
 *
 * Return the playback; the address holds the round of a pause, so that a link shows the same messages.
 */
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
