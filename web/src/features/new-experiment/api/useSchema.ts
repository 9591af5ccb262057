/** GET /schema: the fields of an experiment. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

export function useSchema() {
  return useQuery({
    queryKey: keys.specSchema(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/schema", { signal })),
    staleTime: Infinity, // another version of the service serves another page
  });
}
