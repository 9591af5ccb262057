/** A picture above another one, with what the reader has chosen: the hundreds of lines below are not painted again. */
import { type ReactNode, useId } from "react";
import type { Box } from "./Frame";
import styles from "./Overlay.module.css";

interface Props {
  width: number;
  height: number;
  box: Box;
  children: ReactNode;
}

export function Overlay({ width, height, box, children }: Props) {
  const clip = useId();
  const { left, top } = box;
  const area = { x: left, y: top, width: box.right - left, height: box.bottom - top };
  return (
    <svg className={styles.overlay} width={width} height={height} aria-hidden="true">
      <clipPath id={clip}>
        <rect {...area} />
      </clipPath>
      <rect className={styles.veil} {...area} />
      <g clipPath={`url(#${clip})`}>{children}</g>
    </svg>
  );
}
