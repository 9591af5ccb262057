/** The tab's title: what is worth knowing from another tab comes first. */
import { useEffect } from "react";

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Bigbatch`;
  }, [title]);
}
