/** The parts of a step's time, in the order and the colors in which every page stacks them. */
import { COMMUNICATION_S, COMPUTE_S, IDLE_S, INPUT_S, UPDATE_S } from "./catalog";

export const PARTS = [
  { name: COMPUTE_S, title: "Compute", color: { light: "#5b72d0", dark: "#7487e6" } },
  { name: UPDATE_S, title: "Update", color: { light: "#8a5fb5", dark: "#a57fd0" } },
  { name: COMMUNICATION_S, title: "Communication", color: { light: "#c97524", dark: "#e0924a" } },
  { name: INPUT_S, title: "Input", color: { light: "#5d9683", dark: "#5f9d8c" } },
  { name: IDLE_S, title: "Idle", color: { light: "#a3a3ad", dark: "#75757f" } },
] as const;

/** The cost of K-FAC, which the engine counts in compute and in update; the page of a run shows it apart. */
export const KFAC_PART = {
  name: "kfac_s",
  title: "K-FAC",
  color: { light: "#b5527c", dark: "#d0789e" },
} as const;

export type Part = (typeof PARTS)[number] | typeof KFAC_PART;
