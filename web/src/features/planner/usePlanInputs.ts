/** The inputs of a plan; the address of the page stores them, so a link shows the same plan. */
import { useSearchParams } from "wouter";
import type { PlanRequest } from "@/shared/api/types";
import type { NumberFormat } from "@/shared/controls/NumberField";

interface Texts {
  net: string;
  device: string;
  precision: "float32" | "bfloat16" | "float16";
}
const NUMBERS = {
  side: 224,
  classes: 1000,
  samples: 1281167,
  layers: 12,
  width: 768,
  heads: 12,
  context: 1024,
  vocabulary: 32000,
  words: 50,
  epochs: 90,
  hosts: 16,
  ranks_per_host: 4,
  rate: 1.25e10,
  inside_rate: 5e10,
  latency_s: 5e-6,
  batch: null,
  samples_per_s: null,
  device_hour_price: null,
  efficiency: 0.8,
} as const;
type NumberName = keyof typeof NUMBERS;
export type PlanInputs = Texts & Record<NumberName, number | null>;

export const NETS = [
  ["resnet50", "ResNet-50"],
  ["resnet18", "ResNet-18"],
  ["resnet34", "ResNet-34"],
  ["resnet101", "ResNet-101"],
  ["resnet50_v2", "ResNet-50 v2"],
  ["alexnet", "AlexNet"],
  ["alexnet_bn", "AlexNet-BN"],
  ["googlenet", "GoogLeNet"],
  ["googlenet_bn", "GoogLeNet-BN"],
  ["vgg16", "VGG-16"],
  ["vgg19", "VGG-19"],
  ["nin", "NiN"],
  ["lenet", "LeNet"],
  ["convnet", "Small convnet"],
  ["gpt", "GPT"],
  ["gnmt", "GNMT"],
] as const;
export const PRECISIONS = [
  ["float32", "float32"],
  ["bfloat16", "bfloat16"],
  ["float16", "float16"],
] as const;

export interface NumberInput extends NumberFormat {
  name: NumberName;
}

const LAYERS: NumberInput = { name: "layers", label: "Layers", unit: "", scale: 1, least: 1, whole: true };
const WIDTH: NumberInput = { name: "width", label: "Width", unit: "", scale: 1, least: 1, whole: true };
const IMAGES: NumberInput[] = [
  { name: "side", label: "Image side", unit: "px", scale: 1, least: 8, whole: true },
  { name: "classes", label: "Classes", unit: "", scale: 1, least: 2, whole: true },
];
const TEXT: NumberInput[] = [
  LAYERS,
  WIDTH,
  { name: "heads", label: "Heads", unit: "", scale: 1, least: 1, whole: true },
  { name: "context", label: "Context", unit: "tokens", scale: 1, least: 1, whole: true },
];
const SENTENCES: NumberInput[] = [
  LAYERS,
  WIDTH,
  { name: "vocabulary", label: "Vocabulary", unit: "", scale: 1, least: 6, whole: true },
  { name: "words", label: "Longest sentence", unit: "words", scale: 1, least: 3, whole: true },
];
const JOB: NumberInput[] = [
  { name: "samples", label: "Training samples", unit: "", scale: 1, least: 1, whole: true },
  { name: "epochs", label: "Epochs", unit: "", scale: 1, least: 1, whole: true },
  { name: "batch", label: "Batch", unit: "", scale: 1, least: 1, whole: true, placeholder: "advised" },
  {
    name: "samples_per_s",
    label: "Measured speed of a rank",
    unit: "samples/s",
    scale: 1,
    least: 1e-6,
    placeholder: "assumed",
  },
  {
    name: "device_hour_price",
    label: "Price of a device-hour",
    unit: "",
    scale: 1,
    least: 1e-9,
    placeholder: "none",
  },
  { name: "efficiency", label: "Least efficiency", unit: "%", scale: 0.01, least: 1, most: 99 },
];

/** Return the numbers of the net and of the job: nets for images, text and sentences have their own. */
export function jobOf(net: string): NumberInput[] {
  return [...(net === "gpt" ? TEXT : net === "gnmt" ? SENTENCES : IMAGES), ...JOB];
}

export const NETWORK: NumberInput[] = [
  { name: "hosts", label: "Hosts", unit: "", scale: 1, least: 1, whole: true },
  { name: "ranks_per_host", label: "Ranks per host", unit: "", scale: 1, least: 1, whole: true },
  { name: "rate", label: "Link of a host", unit: "Gbit/s", scale: 1.25e8, least: 1e-6 },
  { name: "inside_rate", label: "Inside a host", unit: "GB/s", scale: 1e9, least: 1e-6 },
  { name: "latency_s", label: "Latency", unit: "µs", scale: 1e-6, least: 0 },
];

export function usePlanInputs(): [PlanInputs, (change: Partial<PlanInputs>) => void] {
  const [search, setSearch] = useSearchParams();
  const numbers: Record<string, number | null> = { ...NUMBERS };
  for (const name of Object.keys(NUMBERS)) {
    const given = search.get(name);
    if (given === "") numbers[name] = null;
    else if (given !== null && Number.isFinite(Number(given))) numbers[name] = Number(given);
  }
  const texts: Texts = {
    net: NETS.find(([net]) => net === search.get("net"))?.[0] ?? "resnet50",
    device: search.get("device") ?? "v100",
    precision: PRECISIONS.find(([name]) => name === search.get("precision"))?.[0] ?? "float32",
  };
  const change = (to: Partial<PlanInputs>) => {
    setSearch(
      (before) => {
        for (const [name, value] of Object.entries(to)) before.set(name, String(value ?? ""));
        return before;
      },
      { replace: true },
    );
  };
  return [{ ...(numbers as Record<NumberName, number | null>), ...texts }, change];
}

/** Return the request of these inputs; the images are synthetic ones of their size. */
export function requestOf(inputs: PlanInputs): PlanRequest {
  const { hosts, ranks_per_host, rate, inside_rate, latency_s, samples_per_s } = inputs;
  return {
    ...netOf(inputs),
    epochs: inputs.epochs,
    precision: inputs.precision,
    batch: inputs.batch,
    device: { name: inputs.device },
    network: { hosts, ranks_per_host, rate, inside_rate, latency_s },
    calibration: samples_per_s === null ? null : { samples_per_s, source: "stated on this page" },
    device_hour_price: inputs.device_hour_price,
    efficiency: inputs.efficiency,
    // the fields of the form are those of the API, which checks them
  } as PlanRequest;
}

function netOf(inputs: PlanInputs) {
  const { net, layers, width, heads, context, vocabulary, words, samples } = inputs;
  const train_samples = samples;
  if (net === "gpt")
    return { model: { kind: net, layers, width, heads }, data: { kind: "text", context, train_samples } };
  if (net === "gnmt") {
    // the file does not exist: only its sizes count in a plan
    const sizes = { vocabulary, max_length: words, train_samples, heldout_samples: 1 };
    return { model: { kind: net, layers, units: width }, data: { kind: "pairs", path: "/pairs", ...sizes } };
  }
  const images = { height: inputs.side, width: inputs.side, classes: inputs.classes, train_samples };
  return { model: { kind: net }, data: { kind: "synthetic", ...images } };
}
