/** The width of an element, which follows the window; a picture that is drawn for it needs no scaled text. */
import { type RefObject, useLayoutEffect, useRef, useState } from "react";

const UNKNOWN = 640; // until the first layout

export function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(UNKNOWN);
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const measure = () => {
      if (element.clientWidth) setWidth(element.clientWidth);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, []);
  return [host, width];
}
