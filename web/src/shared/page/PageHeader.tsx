/** The head of a page: breadcrumbs, title, status, action and description. */
import { type ReactNode, useEffect } from "react";
import { classNames } from "./classNames";
import styles from "./PageHeader.module.css";

interface Props {
  breadcrumbs?: ReactNode;
  title: ReactNode;
  status?: ReactNode;
  action?: ReactNode;
  description?: ReactNode;
  children?: ReactNode;
}

export function PageHeader({ breadcrumbs, title, status, action, description, children }: Props) {
  return (
    <header className={styles.pageHeader}>
      {breadcrumbs && (
        <nav className={styles.breadcrumbs} aria-label="Breadcrumbs">
          {breadcrumbs}
        </nav>
      )}
      <div className={styles.titleRow}>
        <h1>{title}</h1>
        {status && <div className={styles.status}>{status}</div>}
        {action && <div className={styles.actions}>{action}</div>}
      </div>
      {description && <p className={classNames("muted", styles.description)}>{description}</p>}
      {children}
    </header>
  );
}

/** The title of the tab, with the most useful words first. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Bigbatch`;
  }, [title]);
}
