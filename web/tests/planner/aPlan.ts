/** A plan of the service, for tests of its page. */
import type { PlanOption, PlanReport } from "@/shared/api/types";

export function anOption(change: Partial<PlanOption> = {}): PlanOption {
  return {
    rule: "sync",
    collective: { kind: "ring", timeout_s: 300 },
    has_kfac: false,
    mesh_ranks: 1,
    memory_bytes: 5.1e9,
    step_s: 0.2,
    exchange_s: 0.01,
    epoch_s: 30,
    run_s: 2700,
    device_hours: 48,
    cost: null,
    ...change,
  };
}

export function aPlan(change: Partial<PlanReport> = {}): PlanReport {
  return {
    ranks: 64,
    weights: 25557032,
    sample_flops: 2.4e10,
    samples_per_s: 300,
    memory: {
      parts: [
        { name: "weights", bytes: 1e8 },
        { name: "activations", bytes: 5e9 },
      ],
      total_bytes: 5.1e9,
      device_bytes: 1.6e10,
      largest_micro_batch: 128,
    },
    batch: { batch: 8192, micro_batch: 128, passes: 1, steps_per_epoch: 156, advice: [] },
    scaling: { overhead: 0.01, speedup: 60, advised_ranks: 100, servers: 2 },
    kfac: { added_s: 0.05, ratio: 1.25, pays_below: 0.8 },
    options: [anOption(), anOption({ rule: "sync, K-FAC", has_kfac: true, step_s: 0.25, exchange_s: 0.06 })],
    measured: [],
    assumed: ["a net reaches 0.45 of the float32 peak of the device, at every batch"],
    ...change,
  };
}
