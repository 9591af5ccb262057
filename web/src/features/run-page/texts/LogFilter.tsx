/** What the lines of a log must have: their rank, their level, a text. */
import { useEffect } from "react";
import { Choice, type ChoiceOption } from "@/shared/controls/Choice";
import { useAddress } from "@/shared/page/address";
import type { LogQuery } from "../api/useLog";
import { changeLogChoices, MOST_RANKS, queryOf, readLogChoices } from "./logAddress";
import styles from "./LogFilter.module.css";

const LEVELS: readonly ChoiceOption[] = [
  ["", "all"],
  ["info", "from info on"],
  ["warning", "from warning on"],
  ["error", "errors"],
];
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
