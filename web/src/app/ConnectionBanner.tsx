/** A banner while the service does not answer; meanwhile the page shows its last data. */
import { useOutage } from "@/shared/api/connection";
import { SignInButton } from "@/shared/messages/QueryStatus";
import styles from "./ConnectionBanner.module.css";

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
