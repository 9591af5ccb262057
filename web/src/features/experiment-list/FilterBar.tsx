/** The search box of the list of experiments, the labels that it is limited to, and the switch to the archive. */
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { Switch } from "@/shared/controls/Switch";
import { classNames } from "@/shared/page/classNames";
import { ViewsMenu } from "@/shared/views/ViewsMenu";
import { type Filter, filterAddress, LABELS, without } from "./filter";
import styles from "./FilterBar.module.css";

const TYPING_MS = 300; // after the last key the list follows

export function FilterBar({ filter }: { filter: Filter }) {
  const [, navigate] = useLocation();
  return (
    <search className={styles.filterBar}>
      <SearchBox filter={filter} />
      {LABELS.map((name) => {
        const value = filter[name];
        if (!value) return null;
        return (
          <span key={name} className={classNames("small", styles.filterLabel)}>
            <span className="muted">{name}</span> {value}
            <Link
              href={filterAddress(without(filter, name))}
              aria-label={`Remove the filter ${name} ${value}`}
            >
              ×
            </Link>
          </span>
        );
      })}
      <Switch
        on={filter.archived ?? false}
        onChange={(on) => {
          navigate(filterAddress(on ? { ...filter, archived: true } : without(filter, "archived")));
        }}
      >
        archive
      </Switch>
      <Link href="/deleted">Deleted</Link>
      <ViewsMenu page="experiments" />
    </search>
  );
}

function SearchBox({ filter }: { filter: Filter }) {
  const [, navigate] = useLocation();
  const known = filter.q ?? "";
  const [text, setText] = useState(known);
  const [followed, setFollowed] = useState(known);
  // a link or the back button has changed the address
  if (known !== followed) {
    setFollowed(known);
    setText(known);
  }
  useEffect(() => {
    const q = text.trim();
    if (q === known) return undefined;
    const timer = setTimeout(() => {
      setFollowed(q);
      navigate(filterAddress(q ? { ...filter, q } : without(filter, "q")), { replace: true });
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [text, known, filter, navigate]);
  return (
    <input
      className={classNames("textInput", styles.searchBox)}
      type="search"
      aria-label="Search experiments"
      placeholder="Search names, notes, tags"
      value={text}
      onChange={(event) => {
        setText(event.target.value);
      }}
    />
  );
}
