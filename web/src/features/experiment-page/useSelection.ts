/** The selection of curves: which of them are hidden, as the address has it, and which are highlighted. */
import { useMemo, useState } from "react";
import { changeAddress, currentAddress, useAddress } from "@/shared/page/address";

export interface Selection {
  hidden: ReadonlySet<string>;
  highlighted: ReadonlySet<string> | null;
  highlight: (keys: string[] | null) => void;
  toggle: (keys: string[]) => void; // hides all of them, or shows all when all are hidden
  showAll: () => void;
}

export function useSelection(): Selection {
  const [keys, setKeys] = useState<string[] | null>(null);
  const text = useAddress().get("hidden") ?? "";
  const hidden = useMemo(() => keysOf(text), [text]);
  const highlighted = useMemo(() => (keys ? new Set(keys) : null), [keys]);
  return { hidden, highlighted, highlight: setKeys, toggle, showAll };
}

function toggle(which: string[]): void {
  const before = keysOf(currentAddress().get("hidden") ?? "");
  const rest = [...before].filter((key) => !which.includes(key));
  const hidden = which.every((key) => before.has(key)) ? rest : [...rest, ...which];
  changeAddress({ hidden: hidden.join(",") });
}

function showAll(): void {
  changeAddress({ hidden: "" });
}

/** Return the keys of a text such as "12,15". */
function keysOf(text: string): ReadonlySet<string> {
  return new Set(text.split(",").filter(Boolean));
}
