/** POST /scripts: the batch scripts that a text describes. */
import { useMutation } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { yamlBody } from "@/shared/lifecycle/create";

export function useScripts() {
  return useMutation({
    mutationFn: async (text: string) => (await body(client.POST("/api/v1/scripts", yamlBody(text)))).text,
  });
}
