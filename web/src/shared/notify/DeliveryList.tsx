/** The newest messages: how far the delivery of each is, and why the newest attempt failed. */
import type { Delivery } from "@/shared/api/types";
import { formatAge, formatRoughly, secondsBetween } from "@/shared/format/time";
import { useNow } from "@/shared/api/clock";
import { StateMark } from "@/shared/state/StateMark";
import styles from "./DeliveryList.module.css";

const MARKS = { waiting: "queued", delivered: "done", given_up: "failed" } as const;
const NAMES = { waiting: "waiting", delivered: "delivered", given_up: "given up" };

export function DeliveryList({ deliveries }: { deliveries: Delivery[] }) {
  const now = useNow(1000);
  if (!deliveries.length) return <p className="muted">No message was sent in the last 30 days.</p>;
  return (
    <ul className={styles.deliveries} aria-label="Messages">
      {deliveries.map((delivery) => (
        <li key={delivery.id}>
          <StateMark state={MARKS[delivery.status]} label={NAMES[delivery.status]} />
          <span className={styles.messageTitle}>{delivery.title}</span>
          <span className="small muted">
            to {delivery.target}, {formatAge(delivery.created_at, now)}
            {attemptsText(delivery, now)}
          </span>
          {delivery.error && <span className={styles.deliveryError}>{delivery.error}</span>}
        </li>
      ))}
    </ul>
  );
}

function attemptsText({ status, attempts, next_at }: Delivery, now: number): string {
  const tried = attempts > 1 ? `, ${attempts} attempts` : "";
  if (status !== "waiting" || next_at === null) return tried;
  const wait = secondsBetween(new Date(now).toISOString(), next_at);
  return `${tried}, ${wait > 1 ? `next attempt in ${formatRoughly(wait)}` : "is sent now"}`;
}
