/** A page or panel without content, and the reason. */
import type { ReactNode } from "react";
import styles from "./EmptyState.module.css";

interface Props {
  title: string;
  children?: ReactNode;
}

export function EmptyState({ title, children }: Props) {
  return (
    <div className={styles.emptyState}>
      <p className={styles.emptyStateTitle}>{title}</p>
      {children}
    </div>
  );
}
