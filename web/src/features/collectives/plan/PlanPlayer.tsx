/** A plan, round by round: the picture, what happens in words, and the controls. */
import type { PlanView } from "@/shared/api/types";
import { plural } from "@/shared/format/number";
import { nameOf, shapeOf, sourceOf } from "@/features/collectives/names";
import { PlanPicture } from "./PlanDiagram";
import { bytes } from "@/shared/format/quantities";
import { usePlayer } from "./usePlayback";

interface Props {
  plan: PlanView;
  size_bytes: number;
}

export function PlanPlayer({ plan, size_bytes }: Props) {
  const rounds = plan.rounds.length;
  const { at, playing, go, toggle } = usePlayer(rounds);
  const told = tell(plan, at, size_bytes);
  return (
    <figure className="player">
      <figcaption>
        <h2>
          {nameOf(plan.collective)} <span className="muted">{shapeOf(plan.collective)}</span>
        </h2>
        <p className="small muted">{sourceOf(plan.collective)}</p>
      </figcaption>
      <div className="stage panel">
        <PlanPicture plan={plan} at={at} label={told} />
      </div>
      <div className="controls">
        <Step
          label="First"
          mark="M5 4v12M15 4 7 10l8 6z"
          onPress={() => {
            go(0);
          }}
          idle={at === 0}
        />
        <Step
          label="Back"
          mark="M13 4 5 10l8 6z"
          onPress={() => {
            go(at - 1);
          }}
          idle={at === 0}
        />
        <Step
          label={playing ? "Pause" : "Play"}
          mark={playing ? "M6 4v12M14 4v12" : "M6 3.5 16 10 6 16.5z"}
          onPress={toggle}
          idle={!rounds}
        />
        <Step
          label="On"
          mark="M7 4l8 6-8 6z"
          onPress={() => {
            go(at + 1);
          }}
          idle={at === rounds}
        />
        <Step
          label="Last"
          mark="M15 4v12M5 4l8 6-8 6z"
          onPress={() => {
            go(rounds);
          }}
          idle={at === rounds}
        />
        <input
          type="range"
          aria-label="Round"
          aria-valuetext={told}
          min={0}
          max={rounds}
          value={at}
          onChange={(event) => {
            go(Number(event.target.value));
          }}
        />
        <output className="small">
          {at} / {rounds}
        </output>
      </div>
      <p className="told">{told}</p>
      <Legend />
    </figure>
  );
}

interface StepProps {
  label: string;
  mark: string;
  onPress: () => void;
  idle: boolean;
}

function Step({ label, mark, onPress, idle }: StepProps) {
  return (
    <button className="button step" aria-label={label} title={label} onClick={onPress} disabled={idle}>
      <svg viewBox="0 0 20 20" width="16" height="16" aria-hidden="true">
        <path d={mark} />
      </svg>
    </button>
  );
}

function Legend() {
  return (
    <ul className="legend small muted" aria-label="Legend">
      <li>
        <i className="swatch-part" /> part of the sum
      </li>
      <li>
        <i className="swatch-part whole" /> the whole sum
      </li>
      <li>
        <i className="swatch-line across" /> between hosts
      </li>
      <li>
        <i className="swatch-line" /> inside a host
      </li>
      <li>
        <i className="swatch-line kept" /> kept, not added
      </li>
    </ul>
  );
}

function ofThem(some: number, all: number): string {
  return some === 0 ? "none" : some === all ? "all" : String(some);
}

/** What the round just past did. */
function tell(plan: PlanView, at: number, size_bytes: number): string {
  const sends = plan.rounds[at - 1];
  if (!plan.rounds.length) return "One rank has the sum from the start.";
  if (!sends) return "Before the first round: each rank holds its own part.";
  const hostOf = new Map(plan.hosts.flatMap((ranks, host) => ranks.map((rank) => [rank, host] as const)));
  const across = sends.src.filter((src, i) => hostOf.get(src) !== hostOf.get(sends.dst[i] ?? -1)).length;
  const sizes = sends.size.map((size) => (size / plan.chunks) * size_bytes);
  const upTo = Math.min(...sizes) < Math.max(...sizes) ? "up to " : "";
  const arrival = sends.add.every(Boolean) ? "added" : sends.add.some(Boolean) ? "added or kept" : "kept";
  const done = at === plan.rounds.length ? " Every rank has the whole sum." : "";
  return (
    `Round ${at} of ${plan.rounds.length}: ${plural(sends.src.length, "message")} of ` +
    `${upTo}${bytes(Math.max(...sizes))}, ${ofThem(across, sends.src.length)} between hosts; what arrives is ${arrival}.${done}`
  );
}
