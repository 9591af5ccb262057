/** What `auto` would take on this network, size by size. */
import { bytes } from "@/shared/format/quantities";
import type { PriceList } from "@/shared/api/types";
import { nameOf, shapeOf } from "@/features/collectives/names";

export function AutoLine({ choices }: { choices: PriceList["auto"] }) {
  const told = choices.flatMap(({ from_bytes, collective }, place) => {
    if (collective.kind === "native") return [];
    const next = choices[place + 1]?.from_bytes;
    const sizes = next
      ? `below ${bytes(next)}`
      : from_bytes
        ? `from ${bytes(from_bytes)} on`
        : "for every size";
    return [`${[nameOf(collective), shapeOf(collective)].filter(Boolean).join(", ")} ${sizes}`];
  });
  return (
    <p className="small muted auto-takes">
      A run with <code>collective: {"{kind: auto}"}</code> would take: {told.join("; ")}.
    </p>
  );
}
