/** How gradients can meet: what every collective costs on a network, and any of them round by round. */
import { useSearchParams } from "wouter";
import { count } from "@/shared/format/number";
import { Pending } from "@/shared/messages/QueryStatus";
import { useTitle } from "@/shared/page/useTitle";
import { MOST_DRAWN, usePlan } from "./api/usePlan";
import { usePrices } from "./api/usePrices";
import { keyOf } from "./names";
import { useNetwork, type Network } from "./network/useNetwork";
import { AutoLine } from "./prices/AutoChoices";
import { NetworkForm } from "./network/NetworkForm";
import { PlanPlayer } from "./plan/PlanPlayer";
import { PriceTable } from "./prices/PriceTable";
import { bytes, seconds } from "@/shared/format/quantities";
import type { Collective } from "./names";
import "@/features/collective/collective.css";

export function CollectivePage() {
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
      <header className="page-head">
        <h1>Collectives</h1>
        <p className="page-about muted">
          What it costs to sum a vector over all ranks, by every algorithm, and how each goes about it.
        </p>
      </header>
      <NetworkForm network={network} onChange={change} />
      {error && <Pending error={error} />}
      {data && (
        <div className={isPlaceholderData ? "collective waiting" : "collective"}>
          <section className="price-side" aria-label="What it costs">
            <PriceTable list={data} chosen={shown ? keyOf(shown.collective) : ""} onChoose={choose} />
            <p className="small muted">
              {bytes(network.bytes)} on {count(data.world)} {data.world === 1 ? "rank" : "ranks"}; no
              all-reduce takes less than {seconds(data.bound_s)}. Times are of segments in a pipeline, as many
              as are best.
            </p>
            <AutoLine choices={data.auto} />
          </section>
          <section aria-label="How it goes">
            <Drawn network={network} collective={shown?.collective} world={data.world} />
          </section>
        </div>
      )}
    </>
  );
}

interface DrawnProps {
  network: Network;
  collective: Collective | undefined;
  world: number;
}

function Drawn({ network, collective, world }: DrawnProps) {
  const { data, error } = usePlan(collective, network);
  if (world > MOST_DRAWN) return <p className="muted">Up to {MOST_DRAWN} ranks are drawn.</p>;
  if (!data || !collective) return <Pending error={error} />;
  return (
    <PlanPlayer
      key={`${keyOf(collective)} ${network.hosts} ${network.ranks_per_host}`}
      plan={data}
      size_bytes={network.bytes}
    />
  );
}
