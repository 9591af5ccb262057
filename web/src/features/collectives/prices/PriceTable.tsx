/** Every collective's price, the cheapest first; choosing one draws it. */
import type { CSSProperties } from "react";
import type { PriceList } from "@/shared/api/types";
import { count, figure } from "@/shared/format/number";
import { keyOf, nameOf, shapeOf } from "@/features/collectives/names";
import { bytes, seconds } from "@/shared/format/quantities";

interface Props {
  list: PriceList;
  chosen: string;
  onChoose: (key: string) => void;
}

export function PriceTable({ list, chosen, onChoose }: Props) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className="scroll panel prices" role="region" aria-label="Prices" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Collective</th>
            <th scope="col" className="number roomy">
              Rounds
            </th>
            <th scope="col" className="number roomy">
              Busiest link
            </th>
            <th scope="col" className="number">
              Time
            </th>
            <th scope="col" className="number">
              × bound
            </th>
          </tr>
        </thead>
        <tbody>
          {list.prices.map((price) => {
            const key = keyOf(price.collective);
            return (
              <tr key={key} className={key === chosen ? "chosen" : ""}>
                <th scope="row">
                  <button
                    className="plain"
                    aria-pressed={key === chosen}
                    onClick={() => {
                      onChoose(key);
                    }}
                  >
                    {nameOf(price.collective)} <span className="muted">{shapeOf(price.collective)}</span>
                  </button>
                </th>
                <td className="number roomy">{count(price.rounds)}</td>
                <td className="number roomy">{bytes(price.link_bytes)}</td>
                <td className="number">{seconds(price.seconds)}</td>
                <td className="number times">
                  {price.times_bound ? times(price.times_bound) : "–"}
                  <i style={{ "--share": 1 / (price.times_bound ?? 1) } as CSSProperties} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function times(bound: number): string {
  return bound < 100 ? bound.toFixed(2) : figure(bound, 3);
}
