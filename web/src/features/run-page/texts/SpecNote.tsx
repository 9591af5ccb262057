/** A note below the spec: a choice that was made when the run started. */
import type { ReactNode } from "react";
import { classNames } from "@/shared/page/classNames";
import styles from "./SpecNote.module.css";

interface Props {
  title: string;
  children: ReactNode;
}

export function SpecNote({ title, children }: Props) {
  return (
    <section className={classNames("small", styles.specNote)} aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}
