/** The reader's choice of lines of a log, which the address of the page holds: a link shows the same lines. */
import type { LogLevel } from "@/shared/api/types";
import { changeAddress } from "@/shared/page/address";
import type { LogQuery } from "../api/useLog";

export const MOST_RANKS = 512; // in a list; more ranks are typed
const LEVELS: readonly string[] = ["info", "warning", "error"] satisfies LogLevel[];

export interface LogChoices {
  rank: string;
  level: string;
  search: string;
}

/** Return the choices of an address; what a run of `world` ranks cannot show is left out. */
export function readLogChoices(address: URLSearchParams, world: number): LogChoices {
  const [rank, level] = [address.get("rank") ?? "", address.get("level") ?? ""];
  const isTyped = world > MOST_RANKS;
  return {
    rank: isTyped || (world > 1 && isNumber(rank) && Number(rank) < world) ? rank : "",
    level: LEVELS.includes(level) ? level : "",
    search: address.get("search") ?? "",
  };
}

export function changeLogChoices(change: Partial<LogChoices>): void {
  changeAddress({ ...change });
}

export function queryOf({ rank, level, search }: LogChoices): LogQuery {
  return {
    ...(isNumber(rank) ? { rank: Number(rank) } : {}),
    ...(level ? { level: level as LogLevel } : {}),
    ...(search ? { search } : {}),
  };
}

function isNumber(text: string): boolean {
  return /^\d{1,9}$/.test(text);
}
