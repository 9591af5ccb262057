/** The title of the tab, with the most useful words first. */
import { useEffect } from "react";

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Bigbatch`;
  }, [title]);
}
