/** What the last action did, or why it failed, in a line below the actions. */
import { classNames } from "@/shared/page/classNames";
import styles from "./Outcome.module.css";

interface Props {
  text: string;
  error: Error | null;
}

export function Outcome({ text, error }: Props) {
  const shown = error ? `The request failed: ${error.message}` : text;
  return (
    <p className={classNames("small", styles.outcome)} role="status">
      {shown}
    </p>
  );
}
