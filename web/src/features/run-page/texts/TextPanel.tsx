/** A panel with preformatted text that scrolls. */
import type { ReactNode } from "react";
import { classNames } from "@/shared/page/classNames";
import { PanelHeader } from "@/shared/page/PanelHeader";
import styles from "./TextPanel.module.css";

interface Props {
  title: string;
  link?: ReactNode; // next to the title
  actions?: ReactNode;
  children: ReactNode;
}

export function TextPanel({ title, link, actions, children }: Props) {
  return (
    <section className={classNames("panel", styles.textPanel)} aria-label={title}>
      <PanelHeader actions={actions}>
        <h2>{title}</h2>
        {link}
      </PanelHeader>
      {children}
    </section>
  );
}
