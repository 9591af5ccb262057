/** The form of the network; each valid change updates the prices. */
import { changeAddress, useAddress } from "@/shared/page/address";
import { NumberField, type NumberFormat } from "@/shared/controls/NumberField";
import styles from "./NetworkForm.module.css";

interface Props {
  network: Network;
  onChange: (change: Partial<Network>) => void;
}

export function NetworkForm({ network, onChange }: Props) {
  return (
    <form
      className={styles.networkForm}
      aria-label="Network"
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      {FIELDS.map((field) => (
        <NumberField
          key={field.name}
          format={field}
          value={network[field.name]}
          onChange={(value) => {
            if (value !== null) onChange({ [field.name]: value });
          }}
        />
      ))}
    </form>
  );
}

export interface Network {
  hosts: number;
  ranks_per_host: number;
  bytes: number;
  rate: number;
  inside_rate: number;
  latency_s: number;
}

export interface NetworkField extends NumberFormat {
  name: keyof Network;
}

const DEFAULT: Network = {
  hosts: 4,
  ranks_per_host: 4,
  bytes: 1e8,
  rate: 1.25e9,
  inside_rate: 1e10,
  latency_s: 2e-5,
};

const FIELDS: NetworkField[] = [
  { name: "hosts", label: "Hosts", unit: "", scale: 1, least: 1, whole: true },
  { name: "ranks_per_host", label: "Ranks per host", unit: "", scale: 1, least: 1, whole: true },
  { name: "bytes", label: "Vector", unit: "MB", scale: 1e6, least: 1e-6 },
  { name: "rate", label: "Link of a host", unit: "Gbit/s", scale: 1.25e8, least: 1e-6 },
  { name: "inside_rate", label: "Inside a host", unit: "GB/s", scale: 1e9, least: 1e-6 },
  { name: "latency_s", label: "Latency", unit: "µs", scale: 1e-6, least: 0 },
];

/** The network of the price list; the address of the page stores it, so a link shows the same prices. */
export function useNetwork(): [Network, (change: Partial<Network>) => void] {
  const address = useAddress();
  const network = { ...DEFAULT };
  for (const { name, least } of FIELDS) {
    const given = Number(address.get(name) ?? NaN);
    if (Number.isFinite(given) && given >= least * 1e-6) network[name] = given;
  }
  return [network, changeNetwork];
}

function changeNetwork(to: Partial<Network>): void {
  const change = Object.fromEntries(Object.entries(to).map(([name, value]) => [name, String(value)]));
  const isOtherPlan = "hosts" in to || "ranks_per_host" in to;
  changeAddress(isOtherPlan ? { ...change, round: "" } : change);
}
