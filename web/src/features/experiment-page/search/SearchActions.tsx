/** What may be done with a search: pause, resume, more trials. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, body, client } from "@/shared/api/client";
import type { SearchDetail } from "@/shared/api/types";
import { TextField } from "@/shared/controls/TextField";
import { Dialog } from "@/shared/dialog/Dialog";
import { Outcome } from "@/shared/lifecycle/Outcome";

const PAUSED = "The search pauses: its runs stop with a checkpoint.";
const RESUMED = "The search continues.";

interface Props {
  search: SearchDetail;
  refresh: () => Promise<unknown>;
}

export function SearchActions({ search, refresh }: Props) {
  const [outcome, setOutcome] = useState("");
  const change = useChangeSearch(search.experiment_id, refresh);
  const canResume = search.status === "paused" || search.end_cause === "request";
  const request = (kind: "pause" | "resume", text: string) => () => {
    change.mutate(
      { kind },
      {
        onSuccess: () => {
          setOutcome(text);
        },
      },
    );
  };
  return (
    <>
      {search.status === "running" && (
        <button className="button" disabled={change.isPending} onClick={request("pause", PAUSED)}>
          Pause
        </button>
      )}
      {canResume && (
        <button className="button primary" disabled={change.isPending} onClick={request("resume", RESUMED)}>
          Resume
        </button>
      )}
      <MoreTrials {...{ search, refresh }} onResult={setOutcome} />
      <Outcome text={outcome} error={change.error} />
    </>
  );
}

interface MoreTrialsProps extends Props {
  onResult: (text: string) => void;
}

/** The button that opens the dialog for more trials. */
function MoreTrials({ search, refresh, onResult }: MoreTrialsProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        className="button"
        onClick={() => {
          setOpen(true);
        }}
      >
        More trials…
      </button>
      {isOpen && (
        <TrialsDialog
          {...{ search, refresh }}
          onCancel={() => {
            setOpen(false);
          }}
          onResult={(text) => {
            setOpen(false);
            onResult(text);
          }}
        />
      )}
    </>
  );
}

interface DialogProps extends MoreTrialsProps {
  onCancel: () => void;
}

function TrialsDialog({ search, refresh, onCancel, onResult }: DialogProps) {
  const extend = useChangeSearch(search.experiment_id, refresh);
  const [text, setText] = useState(String(search.wanted));
  const trials = Number(text);
  const isWhole = Number.isInteger(trials) && trials > search.wanted;
  const issues = extend.error instanceof ApiError ? extend.error.fields : [];
  return (
    <Dialog
      title="More trials"
      error={extend.error}
      onCancel={onCancel}
      onSubmit={() => {
        if (!isWhole) return;
        extend.mutate(
          { kind: "extend", trials },
          {
            onSuccess: ({ wanted }) => {
              onResult(`The search has ${wanted} trials in all.`);
            },
          },
        );
      }}
      buttons={
        <button className="button primary" disabled={!isWhole || extend.isPending}>
          Extend
        </button>
      }
    >
      <TextField
        label="Trials in all"
        type="number"
        value={text}
        hint={`more than ${search.wanted}`}
        error={issues.find(({ path }) => path === "trials")?.message}
        onChange={setText}
      />
    </Dialog>
  );
}

export type SearchRequest = { kind: "pause" | "resume" } | { kind: "extend"; trials: number };

/** POST /experiments/{id}/search/pause, resume and extend. */
function useChangeSearch(id: number, refresh: () => Promise<unknown>) {
  return useMutation({
    mutationFn: (asked: SearchRequest) => {
      const params = { path: { experiment_id: id } };
      switch (asked.kind) {
        case "pause":
          return body(client.POST("/api/v1/experiments/{experiment_id}/search/pause", { params }));
        case "resume":
          return body(client.POST("/api/v1/experiments/{experiment_id}/search/resume", { params }));
        case "extend":
          return body(
            client.POST("/api/v1/experiments/{experiment_id}/search/extend", {
              params,
              body: { trials: asked.trials, rank_hours: null },
            }),
          );
      }
    },
    onSuccess: refresh,
  });
}
