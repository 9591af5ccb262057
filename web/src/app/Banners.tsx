/** The banners above every page: what is wrong with the service. */
import { useQuery } from "@tanstack/react-query";
import { client } from "@/shared/api/client";
import { useOutage } from "@/shared/api/connection";
import { keys } from "@/shared/api/keys";
import { SignInButton } from "@/shared/messages/QueryStatus";
import styles from "./Banners.module.css";

/** A banner while the service does not answer; meanwhile the page shows its last data. */
export function ConnectionBanner() {
  const outage = useOutage();
  return (
    <div role="status">
      {outage && (
        <p className={styles.outage}>
          {outage.reason}{" "}
          <span className={styles.outageSince}>
            Since {outage.since.toLocaleTimeString("en-GB")}.{" "}
            {!outage.signedOut && "The page asks again every few seconds."}
          </span>
          {outage.signedOut && <SignInButton />}
        </p>
      )}
    </div>
  );
}

/** A banner while the API answers and the scheduler does not work. */
export function SchedulerBanner() {
  const problem = useSchedulerProblem();
  const outage = useOutage();
  return (
    <div role="status">
      {problem && !outage && (
        <p className={styles.outage}>
          {problem.startsWith("has ") ? `The scheduler ${problem}.` : `The scheduler is late: ${problem}.`}{" "}
          <span className={styles.outageSince}>
            Until it works, no run starts or ends, and the pages show the last stored state.
          </span>
        </p>
      )}
    </div>
  );
}

const EVERY_MS = 15_000;

/** GET /ready: why the scheduler does not work; without it the pages show old states, and nothing starts or ends. */
function useSchedulerProblem(): string | null {
  const { data } = useQuery({
    queryKey: keys.readiness(),
    queryFn: async ({ signal }) => {
      const { data: ready, error } = await client.GET("/api/v1/ready", { signal });
      const answer = ready ?? error;
      return "scheduler" in answer ? answer.scheduler : "ok"; // another error has a banner of its own
    },
    refetchInterval: EVERY_MS,
    retry: false,
  });
  return data === undefined || data === "ok" ? null : data;
}
