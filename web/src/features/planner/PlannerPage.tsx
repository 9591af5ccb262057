/** The page of the planner: memory, batch, ranks, time and cost of a training job before it runs. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { PlanReport, PlanRequest } from "@/shared/api/types";
import { formatCount, formatNumber, formatPercent, formatSeconds, pluralize } from "@/shared/format/number";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { classNames } from "@/shared/page/classNames";
import { PageHeader, useTitle } from "@/shared/page/PageHeader";
import { MemoryPanel } from "./MemoryPanel";
import { OptionTable } from "./OptionTable";
import { PlanForm } from "./PlanForm";
import styles from "./PlannerPage.module.css";
import { requestOf, usePlanInputs } from "./usePlanInputs";

export function PlannerPage() {
  useTitle("Plan");
  const [inputs, change] = usePlanInputs();
  const { data, error, isPlaceholderData } = useTrainingPlan(requestOf(inputs));
  return (
    <>
      <PageHeader
        title="Plan"
        description="The memory, the time and the cost of a training job on devices and links that you describe."
      />
      <PlanForm inputs={inputs} onChange={change} />
      {error ? (
        <QueryStatus error={error} />
      ) : (
        data && (
          <div className={classNames(styles.plan, isPlaceholderData && styles.outdated)}>
            <div className={styles.planFacts}>
              <MemoryPanel memory={data.memory} />
              <RanksPanel plan={data} />
              <Basis plan={data} />
            </div>
            <OptionTable plan={data} />
          </div>
        )
      )}
    </>
  );
}

/** The batch, the numbers of ranks and servers by the lemmas of Zou et al. (2017), and when K-FAC pays. */
function RanksPanel({ plan }: { plan: PlanReport }) {
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

/** What of a plan was measured, and what is assumed. */
function Basis({ plan }: { plan: PlanReport }) {
  return (
    <section aria-label="Measured and assumed">
      <h2>Measured and assumed</h2>
      <p>One rank computes {formatNumber(plan.samples_per_s, 3)} samples/s.</p>
      <p className="small">
        <b>Measured:</b> {plan.measured.join("; ") || "nothing"}
      </p>
      <p className="small">
        <b>Assumed:</b> {plan.assumed.join("; ")}
      </p>
    </section>
  );
}

/** POST /plans: the plan of a training job; the service stores nothing. */
function useTrainingPlan(request: PlanRequest) {
  return useQuery({
    queryKey: keys.trainingPlan(request),
    queryFn: ({ signal }) => body(client.POST("/api/v1/plans", { body: request, signal })),
    placeholderData: keepPreviousData,
    staleTime: Infinity, // a plan depends on its request only
    retry: false,
  });
}
