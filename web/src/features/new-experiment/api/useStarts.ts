/** POST /starts: when the jobs of a text would start. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { yamlBody } from "@/shared/lifecycle/create";

const ASK_AGAIN_MS = 60_000; // queues change

/** The text is a valid draft. */
export function useStarts(text: string) {
  return useQuery({
    queryKey: keys.draftStarts(text),
    queryFn: async ({ signal }) =>
      (await body(client.POST("/api/v1/starts", { ...yamlBody(text), signal }))).starts,
    staleTime: ASK_AGAIN_MS,
    refetchInterval: ASK_AGAIN_MS,
    gcTime: ASK_AGAIN_MS,
  });
}
