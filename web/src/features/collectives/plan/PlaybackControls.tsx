/** The controls of a playback: buttons, slider and the number of the round. */
import { classNames } from "@/shared/page/classNames";
import styles from "./PlaybackControls.module.css";
import type { Playback } from "./usePlayback";

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
