/** The page of the collectives: the price of each collective on a network, and its plan, round by round. */
import { formatBytes, formatSeconds, pluralize } from "@/shared/format/number";
import { QueryStatus } from "@/shared/messages/QueryStatus";
import { changeAddress, useAddress } from "@/shared/page/address";
import { classNames } from "@/shared/page/classNames";
import { PageHeader, useTitle } from "@/shared/page/PageHeader";
import { MAX_DRAWN_RANKS, PlanPlayer, usePlan } from "./plan/PlanPlayer";
import { AutoChoices, PriceTable, usePrices } from "./PriceTable";
import styles from "./CollectivesPage.module.css";
import { type Collective, keyOf } from "@/shared/format/collectives";
import { RadioTabs } from "@/shared/controls/RadioTabs";
import { type Network, NetworkForm, useNetwork } from "./NetworkForm";
import { type Operation, OPERATIONS, useOperation } from "./operations";

const TABS = Object.entries(OPERATIONS).map(([name, { title }]): [string, string] => [name, title]);

export function CollectivesPage() {
  useTitle("Collectives");
  const [network, change] = useNetwork();
  const [operation, changeOperation] = useOperation();
  const search = useAddress();
  const { data, error, isPlaceholderData } = usePrices(network, operation);
  const shown =
    data?.prices.find((price) => keyOf(price.collective) === search.get("show")) ?? data?.prices[0];
  const choose = (key: string) => {
    changeAddress({ show: key, round: "" });
  };
  return (
    <>
      <PageHeader
        title="Collectives"
        description="The time of a collective over all ranks with each algorithm, and the rounds of each algorithm."
      />
      <RadioTabs label="Operation" options={TABS} value={operation} onChange={changeOperation} />
      <NetworkForm network={network} onChange={change} />
      {error && <QueryStatus error={error} />}
      {data && (
        <div className={classNames(styles.columns, isPlaceholderData && styles.stale)}>
          <section className={styles.priceColumn} aria-label="Price of each collective">
            <PriceTable list={data} chosen={shown ? keyOf(shown.collective) : ""} onChoose={choose} />
            <p className="small muted">
              {formatBytes(network.bytes)} on {pluralize(data.world, "rank")}; no{" "}
              {OPERATIONS[data.operation].title.toLowerCase()} takes less than {formatSeconds(data.bound_s)}.
              The times hold for a pipeline with the best number of segments.
            </p>
            {data.auto.length > 0 && <AutoChoices choices={data.auto} />}
          </section>
          <section aria-label="Plan of the collective">
            <Plan
              network={network}
              collective={shown?.collective}
              world={data.world}
              operation={data.operation}
            />
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
  operation: Operation; // of the prices, which may be those of the page before
}

function Plan({ network, collective, world, operation }: PlanProps) {
  const { data, error } = usePlan(collective, network, operation);
  if (world > MAX_DRAWN_RANKS)
    return <p className="muted">The diagram shows at most {MAX_DRAWN_RANKS} ranks.</p>;
  if (!data || !collective) return <QueryStatus error={error} />;
  return (
    <PlanPlayer
      key={`${operation} ${keyOf(collective)} ${network.hosts} ${network.ranks_per_host}`}
      plan={data}
      size_bytes={network.bytes}
    />
  );
}
