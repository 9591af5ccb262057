/** What happens by itself: schedules, and where messages go. */
import { PageHeader, useTitle } from "@/shared/page/PageHeader";
import { SchedulesPanel } from "./SchedulesPanel";
import { TargetsPanel } from "./TargetsPanel";

export function AutomationPage() {
  useTitle("Automation");
  return (
    <>
      <PageHeader
        title="Automation"
        description="Schedules of experiments, and where messages about experiments go."
      />
      <SchedulesPanel />
      <TargetsPanel />
    </>
  );
}
