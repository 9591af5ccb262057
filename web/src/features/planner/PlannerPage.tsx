/** The page of the planner: memory, batch, ranks, time and cost of a training job before it runs. */
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { classNames } from "@/shared/page/classNames";
import { PageHeader, useTitle } from "@/shared/page/PageHeader";
import { useTrainingPlan } from "./api/useTrainingPlan";
import { PlanForm } from "./form/PlanForm";
import { requestOf, usePlanInputs } from "./form/usePlanInputs";
import styles from "./PlannerPage.module.css";
import { Basis } from "./report/Basis";
import { MemoryPanel } from "./report/MemoryPanel";
import { OptionTable } from "./report/OptionTable";
import { RanksPanel } from "./report/RanksPanel";

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
