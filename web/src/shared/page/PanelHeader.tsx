/** The first line of a panel: heading and values on the left, actions on the right. */
import type { ReactNode } from "react";
import styles from "./PanelHeader.module.css";

interface Props {
  children: ReactNode;
  actions?: ReactNode;
}

export function PanelHeader({ children, actions }: Props) {
  return (
    <header className={styles.panelHeader}>
      {children}
      {actions && <div className={styles.panelActions}>{actions}</div>}
    </header>
  );
}
