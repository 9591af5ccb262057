/** POST /experiments?dry_run=true: the runs that a text describes, or its errors. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { ExperimentDraft } from "@/shared/api/types";
import { yamlBody } from "@/shared/lifecycle/create";

const PAUSE_MS = 400; // without a change of the text, before the service checks it

export function useDraft(text: string) {
  const settled = useSettled(text);
  const draft = useQuery({
    queryKey: keys.draft(settled),
    queryFn: async ({ signal }) => {
      const request = { params: { query: { dry_run: true } }, ...yamlBody(settled), signal };
      return (await body(client.POST("/api/v1/experiments", request))) as ExperimentDraft;
    },
    enabled: settled.trim() !== "",
    retry: false, // the same text has the same errors
    gcTime: 60_000,
  });
  return { ...draft, settled, isCurrent: settled === text && !draft.isFetching };
}

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(text);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [text]);
  return settled;
}
