/** A state as a mark: shape and color both tell it, the word stands beside it. */
import type { ReactNode } from "react";
import type { State } from "@/shared/api/types";
import { MEANINGS } from "./state";
import "./state.css";

const RING = <circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" strokeWidth="1.5" />;
const DISC = <circle cx="8" cy="8" r="6.5" fill="currentColor" />;

const SHAPES: Record<State, ReactNode> = {
  queued: <circle {...RING.props} strokeDasharray="2.1 2.4" />,
  submitting: (
    <>
      {RING}
      <circle cx="8" cy="8" r="1.75" fill="currentColor" />
    </>
  ),
  pending: (
    <>
      {RING}
      <path d="M8 4.5V8l2.4 1.6" className="state-line" />
    </>
  ),
  running: (
    <>
      <circle className="state-pulse" cx="8" cy="8" r="6.5" fill="currentColor" />
      {DISC}
      <path d="M6.4 5.2v5.6L11 8z" className="state-cut" />
    </>
  ),
  paused: (
    <>
      {RING}
      <path d="M6.4 5.6v4.8M9.6 5.6v4.8" className="state-line" />
    </>
  ),
  done: (
    <>
      {DISC}
      <path d="M5 8.2 7.2 10.4 11.2 6" className="state-cut-line" />
    </>
  ),
  failed: (
    <>
      <path d="M8 .8 15.2 8 8 15.2.8 8z" fill="currentColor" />
      <path d="M8 4.6v4M8 10.6v.9" className="state-cut-line" />
    </>
  ),
  cancelled: (
    <>
      {RING}
      <path d="M4.2 11.8 11.8 4.2" className="state-line" />
    </>
  ),
};

interface Props {
  state: State;
  stopping?: boolean;
  silent?: boolean; // the mark alone, where the word already stands nearby
}

export function StateMark({ state, stopping = false, silent = false }: Props) {
  const word = stopping ? "stopping" : state;
  return (
    <span className="state" data-state={state} title={silent ? word : MEANINGS[state]}>
      <svg viewBox="0 0 16 16" width="16" height="16" role={silent ? "img" : undefined} aria-hidden={!silent}>
        {silent && <title>{word}</title>}
        {SHAPES[state]}
      </svg>
      {!silent && word}
    </span>
  );
}
