/** A panel with a chart. */
import type { ReactNode } from "react";
import { classNames } from "@/shared/page/classNames";
import styles from "./ChartPanel.module.css";

interface Props {
  title: string;
  className?: string | undefined;
  children: ReactNode;
}

export function ChartPanel({ title, className, children }: Props) {
  return (
    <section className={classNames("panel", styles.chartPanel, className)} aria-label={title}>
      {children}
    </section>
  );
}
