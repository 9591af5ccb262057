/** One moment of a plan: hosts, ranks, how much of the sum each holds, and the messages of the round just past. */
import { useMemo } from "react";
import type { PlanView } from "@/shared/api/types";
import { category } from "@/shared/plot/palette";
import { useTheme } from "@/shared/theme/theme";
import { CELL, scene, way } from "./layout";
import { holdings, strips } from "./chunkShares";

const CROWD = 40; // messages, from which on they are drawn finer

interface Props {
  plan: PlanView;
  at: number; // rounds that are past
  label: string;
}

export function PlanPicture({ plan, at, label }: Props) {
  const place = useMemo(() => scene(plan.hosts), [plan.hosts]);
  const held = useMemo(() => holdings(plan, at), [plan, at]);
  return (
    <svg
      className="plan"
      role="img"
      aria-label={label}
      viewBox={`-2 -2 ${place.width + 4} ${place.height + 4}`}
      style={{ maxWidth: `${place.width * 1.35}px` }}
    >
      <Head />
      {place.hosts.map((box, host) => (
        <g key={host} className="plan-host">
          <rect {...box} rx="7" />
          {box.width > 80 && (
            <text x={box.x + 11} y={box.y + 16}>
              host {host}
            </text>
          )}
        </g>
      ))}
      {[...place.ranks].map(([rank, { x, y }]) => (
        <Rank key={rank} rank={rank} x={x} y={y} shares={held[rank] ?? []} />
      ))}
      {at > 0 && <Messages key={at} plan={plan} round={at - 1} ranks={place.ranks} />}
    </svg>
  );
}

function Rank({ rank, x, y, shares }: { rank: number; x: number; y: number; shares: number[] }) {
  const parts = strips(shares);
  const step = (CELL - 6) / parts.length;
  const isWhole = shares.every((share) => share === 1);
  return (
    <g transform={`translate(${x} ${y})`} className={isWhole ? "plan-rank whole" : "plan-rank"}>
      <rect width={CELL} height={CELL} rx="5" />
      {parts.map((share, part) => (
        <rect
          key={part}
          className={share === 1 ? "part whole" : "part"}
          x={3 + part * step}
          y="18"
          width={Math.max(step - (step > 3 ? 1 : 0), 0.5)}
          height={CELL - 21}
          opacity={share === 1 ? 1 : 0.1 + 0.75 * share}
        />
      ))}
      <text x={CELL / 2} y="14" textAnchor="middle">
        {rank}
      </text>
    </g>
  );
}

interface MessagesProps {
  plan: PlanView;
  round: number;
  ranks: ReturnType<typeof scene>["ranks"];
}

function Messages({ plan, round, ranks }: MessagesProps) {
  const theme = useTheme();
  const sends = plan.rounds[round];
  if (!sends) return null;
  return (
    <g className={sends.src.length > CROWD ? "crowded" : ""}>
      {sends.src.map((src, i) => {
        const [from, to] = [ranks.get(src), ranks.get(sends.dst[i] ?? -1)];
        if (!from || !to || !sends.size[i]) return null;
        const names = ["message", from.host === to.host ? "" : "across", sends.add[i] ? "" : "kept"];
        // a tree of its own color, as the paper has it
        const color = plan.collective.kind === "colors" ? category(sends.start[i] ?? 0, theme) : undefined;
        return (
          <path
            key={i}
            className={names.filter(Boolean).join(" ")}
            style={{ stroke: color }}
            d={way(from, to)}
            pathLength={1}
            markerEnd="url(#head)"
          />
        );
      })}
    </g>
  );
}

function Head() {
  return (
    <defs>
      <marker
        id="head"
        viewBox="0 0 8 8"
        refX="6"
        refY="4"
        markerWidth="7"
        markerHeight="7"
        markerUnits="userSpaceOnUse"
        orient="auto"
      >
        <path d="M0 0.6 8 4 0 7.4z" fill="context-stroke" />
      </marker>
    </defs>
  );
}
