/** The network that prices are asked for; it lives in the address, so that a link shows the same picture. */
import { useSearchParams } from "wouter";

export interface Network {
  hosts: number;
  ranks_per_host: number;
  bytes: number;
  rate: number;
  inside_rate: number;
  latency_s: number;
}

export interface Figure {
  name: keyof Network;
  label: string;
  unit: string;
  scale: number; // how much of the service's unit one of the reader's is
  least: number;
  whole?: boolean;
}

const START: Network = {
  hosts: 4,
  ranks_per_host: 4,
  bytes: 1e8,
  rate: 1.25e9,
  inside_rate: 1e10,
  latency_s: 2e-5,
};

export const FIGURES: Figure[] = [
  { name: "hosts", label: "Hosts", unit: "", scale: 1, least: 1, whole: true },
  { name: "ranks_per_host", label: "Ranks per host", unit: "", scale: 1, least: 1, whole: true },
  { name: "bytes", label: "Vector", unit: "MB", scale: 1e6, least: 1e-6 },
  { name: "rate", label: "Link of a host", unit: "Gbit/s", scale: 1.25e8, least: 1e-6 },
  { name: "inside_rate", label: "Inside a host", unit: "GB/s", scale: 1e9, least: 1e-6 },
  { name: "latency_s", label: "Latency", unit: "µs", scale: 1e-6, least: 0 },
];

export function useNetwork(): [Network, (change: Partial<Network>) => void] {
  const [search, setSearch] = useSearchParams();
  const network = { ...START };
  for (const { name, least } of FIGURES) {
    const given = Number(search.get(name) ?? NaN);
    if (Number.isFinite(given) && given >= least * 1e-6) network[name] = given;
  }
  const change = (to: Partial<Network>) => {
    setSearch(
      (before) => {
        for (const [name, value] of Object.entries(to)) before.set(name, String(value));
        return before;
      },
      { replace: true },
    );
  };
  return [network, change];
}
