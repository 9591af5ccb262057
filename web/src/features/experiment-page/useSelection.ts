/** The selection of curves: which of them are hidden and which are highlighted. */
import { useCallback, useMemo, useState } from "react";

export interface Selection {
  hidden: ReadonlySet<string>;
  highlighted: ReadonlySet<string> | null;
  highlight: (keys: string[] | null) => void;
  toggle: (keys: string[]) => void; // hides all of them, or shows all when all are hidden
  showAll: () => void;
}

export function useSelection(): Selection {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [keys, setKeys] = useState<string[] | null>(null);
  const highlighted = useMemo(() => (keys ? new Set(keys) : null), [keys]);
  const toggle = useCallback((which: string[]) => {
    setHidden((before) => {
      const rest = new Set([...before].filter((key) => !which.includes(key)));
      return which.every((key) => before.has(key)) ? rest : new Set([...rest, ...which]);
    });
  }, []);
  const showAll = useCallback(() => {
    setHidden(new Set());
  }, []);
  return { hidden, highlighted, highlight: setKeys, toggle, showAll };
}
