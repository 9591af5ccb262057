/** The frame of a panel: title, order, downloads, options, and the picture in the panel's width. */
import { type ReactNode, useId } from "react";
import type { CsvValue } from "@/shared/files/csv";
import { classNames } from "@/shared/page/classNames";
import { useWidth } from "@/shared/page/useWidth";
import { ChartBoundary } from "@/shared/plot/ChartBoundary";
import { DownloadMenu } from "@/shared/files/DownloadMenu";
import { pictureIn } from "@/shared/files/htmlPicture";
import type { LegendEntry } from "@/shared/files/picture";
import styles from "./PanelFrame.module.css";

/** How a panel changes its place; null at an end of the list. */
export interface PanelPlace {
  up: (() => void) | null;
  down: (() => void) | null;
  remove: () => void;
}

interface Props {
  title: string;
  place: PanelPlace;
  runs: readonly number[]; // that the panel shows
  legend: readonly LegendEntry[]; // of the downloaded picture
  csv: () => CsvValue[][];
  options: ReactNode;
  note?: ReactNode;
  empty?: string | null; // why there is no picture
  children: (width: number) => ReactNode;
}

export function PanelFrame({ title, place, options, note, empty = null, children, ...file }: Props) {
  const [host, width] = useWidth();
  const id = useId();
  return (
    <section className={classNames("panel", styles.comparePanel)} aria-labelledby={id}>
      <header className={styles.panelHead}>
        <h2 id={id}>{title}</h2>
        <PlaceButtons title={title} place={place} />
        {empty === null && <DownloadMenu {...file} title={title} picture={() => pictureIn(host.current)} />}
      </header>
      <div className={styles.panelOptions}>{options}</div>
      <div ref={host} className={styles.pictureHost}>
        <ChartBoundary
          of={children}
          fallback={({ message }) => (
            <p className={styles.noPicture}>This picture cannot be drawn: {message}.</p>
          )}
        >
          {empty === null ? children(width) : <p className={styles.noPicture}>{empty}</p>}
        </ChartBoundary>
      </div>
      {note && <p className={classNames("small muted", styles.panelNote)}>{note}</p>}
    </section>
  );
}

function PlaceButtons({ title, place }: { title: string; place: PanelPlace }) {
  const buttons = [
    { sign: "↑", label: `Move ${title} up`, onClick: place.up },
    { sign: "↓", label: `Move ${title} down`, onClick: place.down },
    { sign: "×", label: `Remove ${title}`, onClick: place.remove },
  ];
  return (
    <div className={styles.placeButtons}>
      {buttons.map(({ sign, label, onClick }) => (
        <button
          key={sign}
          className={classNames("plain", styles.placeButton)}
          aria-label={label}
          title={label}
          disabled={!onClick}
          onClick={() => onClick?.()}
        >
          {sign}
        </button>
      ))}
    </div>
  );
}
