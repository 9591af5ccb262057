/** What of a plan was measured, and what is assumed. */
import type { PlanReport } from "@/shared/api/types";
import { formatNumber } from "@/shared/format/number";

export function Basis({ plan }: { plan: PlanReport }) {
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
