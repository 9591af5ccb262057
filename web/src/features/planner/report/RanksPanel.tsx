/** The batch, the numbers of ranks and servers by the lemmas of Zou et al. (2017), and when K-FAC pays. */
import type { PlanReport } from "@/shared/api/types";
import { formatCount, formatNumber, formatPercent, formatSeconds, pluralize } from "@/shared/format/number";

export function RanksPanel({ plan }: { plan: PlanReport }) {
  const { batch, scaling, ranks } = plan;
  return (
    <section aria-label="Batch and ranks">
      <h2>Batch and ranks</h2>
      <p>
        A batch of {formatCount(batch.batch)} on {pluralize(ranks, "rank")}: {passes(batch.passes)} of{" "}
        {pluralize(batch.micro_batch, "sample")} each, {pluralize(batch.steps_per_epoch, "step")} an epoch.
      </p>
      <p>
        {ranks > 1 &&
          `Speed-up ${formatNumber(scaling.speedup, 3)} of ${formatCount(ranks)}, at an overhead of ${formatNumber(scaling.overhead, 2)}. `}
        At most {pluralize(scaling.advised_ranks, "rank")} for this batch;{" "}
        {pluralize(scaling.servers, "parameter server")} would hide the exchange.
      </p>
      {plan.kfac && (
        <p>
          K-FAC adds {formatSeconds(plan.kfac.added_s)} to a step: {formatNumber(plan.kfac.ratio, 3)} times a
          step without it. It pays where it needs less than {formatPercent(plan.kfac.pays_below, 0)} of the
          epochs.
        </p>
      )}
      {batch.advice.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </section>
  );
}

function passes(count: number): string {
  return count === 1 ? "1 pass" : `${formatCount(count)} passes`;
}
