/** The player of a plan: the diagram of a round, its description and the controls. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { PlanView } from "@/shared/api/types";
import { type Collective, shapeOf, shapeParameters } from "@/shared/format/collectives";
import { formatBytes, pluralize } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import type { Network } from "../NetworkForm";
import { algorithmName, algorithmSource, hasSums, type Operation, OPERATIONS } from "../operations";
import { PlanDiagram } from "./PlanDiagram";
import styles from "./PlanPlayer.module.css";
import { PlaybackControls, usePlayback } from "./PlaybackControls";

interface Props {
  plan: PlanView;
  size_bytes: number;
}

export function PlanPlayer({ plan, size_bytes }: Props) {
  const rounds = plan.rounds.length;
  const playback = usePlayback(rounds);
  const description = roundText(plan, playback.at, size_bytes);
  return (
    <figure className={styles.player}>
      <figcaption>
        <h2>
          {algorithmName(plan.collective, plan.operation)}{" "}
          <span className="muted">{shapeOf(plan.collective)}</span>
        </h2>
        <p className="small muted">{algorithmSource(plan.collective, plan.operation)}</p>
      </figcaption>
      <div className={classNames("panel", styles.stage)}>
        <PlanDiagram plan={plan} at={playback.at} label={description} />
      </div>
      <PlaybackControls {...{ playback, rounds, description }} />
      <p className={styles.roundText}>{description}</p>
      <PlanLegend operation={plan.operation} />
    </figure>
  );
}

/** The legend of a plan's diagram. */
function PlanLegend({ operation }: { operation: Operation }) {
  const sums = hasSums(operation);
  return (
    <ul className={classNames("small muted", styles.planLegend)} aria-label="Legend">
      {sums && (
        <li>
          <i className={styles.partSwatch} /> part of the sum
        </li>
      )}
      <li>
        <i className={classNames(styles.partSwatch, styles.completeSwatch)} />{" "}
        {sums ? "complete sum" : "block that is there"}
      </li>
      <li>
        <i className={classNames(styles.messageSwatch, styles.betweenHostsSwatch)} /> between hosts
      </li>
      <li>
        <i className={styles.messageSwatch} /> inside a host
      </li>
      <li>
        <i className={classNames(styles.messageSwatch, styles.copiedSwatch)} />{" "}
        {sums ? "copied, not added" : "copied"}
      </li>
    </ul>
  );
}

/**
 * A round of a plan in words.
 *
 * Return what happens in round `at` of the plan, from 1; 0 is the time before the first round.
 */
export function roundText(plan: PlanView, at: number, size_bytes: number): string {
  const sends = plan.rounds[at - 1];
  const texts = OPERATIONS[plan.operation];
  if (!plan.rounds.length) return texts.alone;
  if (!sends) return `Before the first round: ${texts.start}`;
  const hostOf = new Map(plan.hosts.flatMap((ranks, host) => ranks.map((rank) => [rank, host] as const)));
  const between = sends.src.filter((src, i) => hostOf.get(src) !== hostOf.get(sends.dst[i] ?? -1)).length;
  const sizes = sends.size.map((size) => (size / plan.chunks) * size_bytes);
  const upTo = Math.min(...sizes) < Math.max(...sizes) ? "up to " : "";
  const done = at === plan.rounds.length ? ` ${texts.end}` : "";
  return (
    `Round ${at} of ${plan.rounds.length}: ${pluralize(sends.src.length, "message")} of ` +
    `${upTo}${formatBytes(Math.max(...sizes))}, ${shareText(between, sends.src.length)} between hosts; ` +
    `the receiver ${receiverText(sends.add)}.${done}`
  );
}

function receiverText(add: boolean[]): string {
  if (add.every(Boolean)) return "adds the data";
  return add.some(Boolean) ? "adds or copies the data" : "copies the data";
}

function shareText(some: number, all: number): string {
  return some === 0 ? "none" : some === all ? "all" : String(some);
}

export const MAX_DRAWN_RANKS = 64;

/** GET /collectives/plan: the sends of a collective, round by round. */
export function usePlan(
  collective: Collective | undefined,
  { hosts, ranks_per_host }: Network,
  operation: Operation,
) {
  return useQuery({
    queryKey: keys.collectivePlan(collective, hosts, ranks_per_host, operation),
    queryFn: ({ signal }) => {
      const shape = collective ? shapeParameters(collective) : {};
      const query = { ...shape, kind: collective?.kind ?? "ring", hosts, ranks_per_host, operation };
      return body(client.GET("/api/v1/collectives/plan", { params: { query }, signal }));
    },
    enabled: collective !== undefined && hosts * ranks_per_host <= MAX_DRAWN_RANKS,
    staleTime: Infinity,
    retry: false,
  });
}
