/** The diagram of a plan after a round: hosts, ranks, the share of the sum on each rank, and the round's messages. */
import { useMemo } from "react";
import type { PlanView } from "@/shared/api/types";
import { classNames } from "@/shared/page/classNames";
import { category } from "@/shared/plot/palette";
import { useTheme } from "@/shared/theme/theme";
import { averageShares, chunkShares } from "./chunkShares";
import { promisedChunks } from "../operations";
import { CELL, layoutHosts, messagePath } from "./layout";
import styles from "./PlanDiagram.module.css";

const CROWDED = 40; // from this number of messages on their lines are thinner

interface Props {
  plan: PlanView;
  at: number; // rounds that are complete
  label: string;
}

export function PlanDiagram({ plan, at, label }: Props) {
  const layout = useMemo(() => layoutHosts(plan.hosts), [plan.hosts]);
  const shares = useMemo(() => chunkShares(plan, at), [plan, at]);
  return (
    <svg
      className={styles.diagram}
      role="img"
      aria-label={label}
      data-testid="plan"
      viewBox={`-2 -2 ${layout.width + 4} ${layout.height + 4}`}
      style={{ maxWidth: `${layout.width * 1.35}px` }}
    >
      <ArrowHead />
      {layout.hosts.map((box, host) => (
        <g key={host} className={styles.host}>
          <rect {...box} rx="7" />
          {box.width > 80 && (
            <text x={box.x + 11} y={box.y + 16}>
              host {host}
            </text>
          )}
        </g>
      ))}
      {[...layout.ranks].map(([rank, { x, y }]) => (
        <Rank
          key={rank}
          {...{ rank, x, y }}
          shares={shares[rank] ?? []}
          promised={promisedChunks(plan, rank)}
        />
      ))}
      {at > 0 && <Messages key={at} plan={plan} round={at - 1} ranks={layout.ranks} />}
    </svg>
  );
}

interface RankProps {
  rank: number;
  x: number;
  y: number;
  shares: number[];
  promised: [first: number, end: number]; // the chunks that the rank must have at the end
}

function Rank({ rank, x, y, shares, promised }: RankProps) {
  const averages = averageShares(shares);
  const step = (CELL - 6) / averages.length;
  const [first, end] = promised;
  const isComplete = first < end && shares.slice(first, end).every((share) => share === 1);
  return (
    <g
      transform={`translate(${x} ${y})`}
      className={classNames(styles.rank, isComplete && styles.completeRank)}
      data-testid={isComplete ? "complete-rank" : "partial-rank"}
    >
      <rect width={CELL} height={CELL} rx="5" />
      {averages.map((share, index) => (
        <rect
          key={index}
          className={classNames(styles.chunk, share === 1 && styles.completeChunk)}
          x={3 + index * step}
          y="18"
          width={Math.max(step - (step > 3 ? 1 : 0), 0.5)}
          height={CELL - 21}
          opacity={share === 1 ? 1 : share && 0.1 + 0.75 * share}
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
  ranks: ReturnType<typeof layoutHosts>["ranks"];
}

function Messages({ plan, round, ranks }: MessagesProps) {
  const theme = useTheme();
  const sends = plan.rounds[round];
  if (!sends) return null;
  return (
    <g className={classNames(sends.src.length > CROWDED && styles.crowded)}>
      {sends.src.map((src, i) => {
        const [from, to] = [ranks.get(src), ranks.get(sends.dst[i] ?? -1)];
        if (!from || !to || !sends.size[i]) return null;
        // Each tree has its own color, as in the figures of Kumar et al.
        const color = plan.collective.kind === "colors" ? category(sends.start[i] ?? 0, theme) : undefined;
        return (
          <path
            key={i}
            className={classNames(
              styles.message,
              from.host !== to.host && styles.betweenHosts,
              !sends.add[i] && styles.copied,
            )}
            data-testid="message"
            style={{ stroke: color }}
            d={messagePath(from, to)}
            pathLength={1}
            markerEnd="url(#arrow-head)"
          />
        );
      })}
    </g>
  );
}

function ArrowHead() {
  return (
    <defs>
      <marker
        id="arrow-head"
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
