/** A round of a plan in words. */
import type { PlanView } from "@/shared/api/types";
import { formatBytes, pluralize } from "@/shared/format/number";
import { OPERATIONS } from "../operation/operations";

/** Return what happens in round `at` of the plan, from 1; 0 is the time before the first round. */
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
