/** The table of prices, the cheapest collective first; a click on a row draws its plan. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { CSSProperties } from "react";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { PriceList, PriceView } from "@/shared/api/types";
import { keyOf, nameOf, shapeOf } from "@/shared/format/collectives";
import { formatBytes, formatCount, formatNumber, formatSeconds } from "@/shared/format/number";
import { classNames } from "@/shared/page/classNames";
import { ScrollRegion } from "@/shared/page/ScrollRegion";
import type { Network } from "./NetworkForm";
import { algorithmName, type Operation } from "./operations";
import styles from "./PriceTable.module.css";

interface Props {
  list: PriceList;
  chosen: string; // the key of a collective
  onChoose: (key: string) => void;
}

export function PriceTable({ list, chosen, onChoose }: Props) {
  const wideNumber = classNames("number", styles.wideOnly);
  const most = Math.max(1, ...list.prices.map((price) => price.times_bound ?? 0));
  return (
    <ScrollRegion className={classNames("scroll panel", styles.prices)} label="Prices">
      <table>
        <thead>
          <tr>
            <th scope="col">Collective</th>
            <th scope="col" className={wideNumber}>
              Rounds
            </th>
            <th scope="col" className={wideNumber}>
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
              <PriceRow
                key={key}
                price={price}
                operation={list.operation}
                most={most}
                isChosen={key === chosen}
                onChoose={onChoose}
              />
            );
          })}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

interface RowProps {
  price: PriceView;
  operation: Operation;
  most: number; // the greatest factor of the table, whose bar is the longest
  isChosen: boolean;
  onChoose: (key: string) => void;
}

function PriceRow({ price, operation, most, isChosen, onChoose }: RowProps) {
  const wideNumber = classNames("number", styles.wideOnly);
  return (
    <tr className={classNames(isChosen && styles.chosen)}>
      <th scope="row">
        <button
          className="plain"
          aria-pressed={isChosen}
          onClick={() => {
            onChoose(keyOf(price.collective));
          }}
        >
          {algorithmName(price.collective, operation)}{" "}
          <span className="muted">{shapeOf(price.collective)}</span>
        </button>
      </th>
      <td className={wideNumber}>{formatCount(price.rounds)}</td>
      <td className={wideNumber}>{formatBytes(price.link_bytes)}</td>
      <td className="number">{formatSeconds(price.seconds)}</td>
      <td className={classNames("number", styles.timesBound)}>
        {price.times_bound ? formatFactor(price.times_bound) : "–"}
        <i style={{ "--share": (price.times_bound ?? 0) / most } as CSSProperties} />
      </td>
    </tr>
  );
}

function formatFactor(factor: number): string {
  return factor < 100 ? factor.toFixed(2) : formatNumber(factor, 3);
}

/** The collective that `auto` chooses on this network for each size. */
export function AutoChoices({ choices }: { choices: PriceList["auto"] }) {
  const texts = choices.flatMap(({ from_bytes, collective }, index) => {
    if (collective.kind === "native") return [];
    const next = choices[index + 1]?.from_bytes;
    const sizes = next
      ? `below ${formatBytes(next)}`
      : from_bytes
        ? `from ${formatBytes(from_bytes)}`
        : "for every size";
    return [`${[nameOf(collective), shapeOf(collective)].filter(Boolean).join(", ")} ${sizes}`];
  });
  return (
    <p className="small muted">
      A run with <code>collective: {"{kind: auto}"}</code> would take: {texts.join("; ")}.
    </p>
  );
}

/** GET /collectives/price: the price of each collective on a network. */
export function usePrices(network: Network, operation: Operation) {
  const query = { ...network, operation };
  return useQuery({
    queryKey: keys.collectivePrices(query),
    queryFn: ({ signal }) => body(client.GET("/api/v1/collectives/price", { params: { query }, signal })),
    placeholderData: keepPreviousData,
    staleTime: Infinity, // the prices depend on the query only
    retry: false,
  });
}
