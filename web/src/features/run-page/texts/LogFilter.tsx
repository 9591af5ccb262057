/** What the lines of a log must have: their rank, their level, a text. */
import { useEffect } from "react";
import type { LogLevel } from "@/shared/api/types";
import { Choice, type ChoiceOption } from "@/shared/controls/Choice";
import { changeAddress, useAddress } from "@/shared/page/address";
import type { LogQuery } from "./log";
import styles from "./LogFilter.module.css";

const LEVELS = [
  ["", "all"],
  ["info", "from info on"],
  ["warning", "from warning on"],
  ["error", "errors"],
] as const satisfies readonly (readonly ["" | LogLevel, string])[];
const TYPING_MS = 300; // a search begins when nothing was typed for so long

interface Props {
  world: number;
  onChange: (query: LogQuery) => void;
}

export function LogFilter({ world, onChange }: Props) {
  const { rank, level, search } = readLogChoices(useAddress(), world);

  useEffect(() => {
    const timer = setTimeout(() => {
      onChange(queryOf({ rank, level, search }));
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [rank, level, search, onChange]);

  return (
    <div className={styles.logFilter}>
      {world > 1 && (
        <RankChoice
          world={world}
          value={rank}
          onChange={(to) => {
            changeLogChoices({ rank: to });
          }}
        />
      )}
      <Choice
        label="Level"
        value={level}
        options={LEVELS}
        onChange={(to) => {
          changeLogChoices({ level: to });
        }}
      />
      <input
        type="search"
        className="textInput small"
        aria-label="Search the log"
        placeholder="Search"
        maxLength={200}
        value={search}
        onChange={(event) => {
          changeLogChoices({ search: event.target.value });
        }}
      />
    </div>
  );
}

interface RankProps {
  world: number;
  value: string;
  onChange: (rank: string) => void;
}

function RankChoice({ world, value, onChange }: RankProps) {
  if (world <= MOST_RANKS) {
    const ranks = Array.from({ length: world }, (_, rank): ChoiceOption => [`${rank}`, `${rank}`]);
    return <Choice label="Rank" value={value} options={[["", "all"], ...ranks]} onChange={onChange} />;
  }
  return (
    <label className="small muted">
      Rank{" "}
      <input
        inputMode="numeric"
        className="textInput small"
        size={6}
        placeholder="all"
        value={value}
        onChange={(event) => {
          onChange(event.target.value);
        }}
      />
    </label>
  );
}

const MOST_RANKS = 512; // in a list; more ranks are typed

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
    level: LEVELS.some(([known]) => known === level) ? level : "",
    search: address.get("search") ?? "",
  };
}

function changeLogChoices(change: Partial<LogChoices>): void {
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
