/** The page of the collectives: the price of each collective on a network, and its plan, round by round. */
import { useSearchParams } from "wouter";
import { formatCount } from "@/shared/format/number";
import { formatBytes, formatSeconds } from "@/shared/format/quantities";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { classNames } from "@/shared/page/classNames";
import { PageHeader } from "@/shared/page/PageHeader";
import { useTitle } from "@/shared/page/useTitle";
import { MAX_DRAWN_RANKS, usePlan } from "./api/usePlan";
import { usePrices } from "./api/usePrices";
import styles from "./CollectivesPage.module.css";
import { type Collective, keyOf } from "./names";
import { NetworkForm } from "./network/NetworkForm";
import { type Network, useNetwork } from "./network/useNetwork";
import { PlanPlayer } from "./plan/PlanPlayer";
import { AutoChoices } from "./prices/AutoChoices";
import { PriceTable } from "./prices/PriceTable";

export function CollectivesPage() {
  useTitle("Collectives");
  const [network, change] = useNetwork();
  const [search, setSearch] = useSearchParams();
  const { data, error, isPlaceholderData } = usePrices(network);
  const shown =
    data?.prices.find((price) => keyOf(price.collective) === search.get("show")) ?? data?.prices[0];
  const choose = (key: string) => {
    setSearch((before) => (before.set("show", key), before), { replace: true });
  };
  return (
    <>
      <PageHeader
        title="Collectives"
        description="The time of an all-reduce over all ranks with each algorithm, and the rounds of each algorithm."
      />
      <NetworkForm network={network} onChange={change} />
      {error && <QueryStatus error={error} />}
      {data && (
        <div className={classNames(styles.columns, isPlaceholderData && styles.stale)}>
          <section className={styles.priceColumn} aria-label="Price of each collective">
            <PriceTable list={data} chosen={shown ? keyOf(shown.collective) : ""} onChoose={choose} />
            <p className="small muted">
              {formatBytes(network.bytes)} on {formatCount(data.world)} {data.world === 1 ? "rank" : "ranks"};
              no all-reduce takes less than {formatSeconds(data.bound_s)}. The times hold for a pipeline with
              the best number of segments.
            </p>
            <AutoChoices choices={data.auto} />
          </section>
          <section aria-label="Plan of the collective">
            <Plan network={network} collective={shown?.collective} world={data.world} />
          </section>
        </div>
      )}
    </>
  );
}

interface PlanProps {
  network: Network;
  collective: Collective | undefined;
  world: number;
}

function Plan({ network, collective, world }: PlanProps) {
  const { data, error } = usePlan(collective, network);
  if (world > MAX_DRAWN_RANKS)
    return <p className="muted">The diagram shows at most {MAX_DRAWN_RANKS} ranks.</p>;
  if (!data || !collective) return <QueryStatus error={error} />;
  return (
    <PlanPlayer
      key={`${keyOf(collective)} ${network.hosts} ${network.ranks_per_host}`}
      plan={data}
      size_bytes={network.bytes}
    />
  );
}
