/** The error of a cluster that does not answer. */
import type { ReactNode } from "react";
import { classNames } from "@/shared/page/classNames";
import styles from "./ClusterError.module.css";

interface Props {
  clamped?: boolean; // show a few lines at most
  children: ReactNode;
}

export function ClusterError({ clamped = false, children }: Props) {
  return (
    <p className={classNames(styles.clusterError, clamped && styles.clamped)} role="alert">
      {children}
    </p>
  );
}
