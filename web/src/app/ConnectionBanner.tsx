/** A banner while the service does not answer; the page shows its last data meanwhile. */
import { useOutage } from "@/shared/api/connection";
import { SignInButton } from "@/shared/messages/SignInButton";
import styles from "./ConnectionBanner.module.css";

export function ConnectionBanner() {
  const outage = useOutage();
  return (
    <div role="status">
      {outage && (
        <p className={styles.outage}>
          {outage.reason}{" "}
          <span className={styles.outageSince}>
            The data on this page are those of {outage.since.toLocaleTimeString("en-GB")}
            {outage.signedOut ? ". " : "; the page asks again every few seconds."}
          </span>
          {outage.signedOut && <SignInButton />}
        </p>
      )}
    </div>
  );
}
