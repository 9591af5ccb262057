/** GET /plans/devices: the devices that the planner knows. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";

export function useDevices() {
  return useQuery({
    queryKey: keys.devices(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/plans/devices", { signal })),
    staleTime: Infinity,
  });
}
