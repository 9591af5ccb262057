/** GET /recipes: the specs that the service offers. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

export function useRecipes(enabled = true) {
  return useQuery({
    queryKey: keys.recipes(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/recipes", { signal })),
    enabled,
  });
}
