/** Whether an element has been in view, or near it: what is far down need not be drawn before. */
import { type RefObject, useEffect, useRef, useState } from "react";

const NEAR = "800px"; // so that it is drawn before the reader comes there

/** Return the reference for the element, and whether it was seen; `atOnce` counts as seen. */
export function useSeen(atOnce: boolean): [RefObject<HTMLDivElement | null>, boolean] {
  const host = useRef<HTMLDivElement>(null);
  const [wasSeen, setSeen] = useState(false);
  const isSeen = atOnce || wasSeen;
  useEffect(() => {
    if (isSeen || !host.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
      },
      { rootMargin: NEAR },
    );
    observer.observe(host.current);
    return () => {
      observer.disconnect();
    };
  }, [isSeen]);
  return [host, isSeen];
}
