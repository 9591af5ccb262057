/** Requests of notifications: targets, rules, deliveries, tests. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { body, client, done } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { pollInterval } from "@/shared/api/polling";
import type { components } from "@/shared/api/schema";
import type { NotifyEvent } from "@/shared/api/types";

export type TargetKind = components["schemas"]["TargetKind"];

export function useTargets() {
  return useQuery({
    queryKey: keys.notifyTargets(),
    queryFn: async ({ signal }) =>
      (await body(client.GET("/api/v1/notifications/targets", { signal }))).targets,
    refetchInterval: ({ state }) => pollInterval(state.data?.some(({ waiting }) => waiting > 0) ?? false),
  });
}

export function useRules(experiment: number) {
  return useQuery({
    queryKey: keys.notifyRules(experiment),
    queryFn: async ({ signal }) => {
      const params = { query: { experiment } };
      return (await body(client.GET("/api/v1/notifications/rules", { params, signal }))).rules;
    },
  });
}

/** Return the newest messages, about one experiment or all; while one waits, again each second. */
export function useDeliveries(experiment: number | null) {
  return useQuery({
    queryKey: keys.deliveries(experiment),
    queryFn: async ({ signal }) => {
      const params = { query: { limit: 20, ...(experiment !== null && { experiment }) } };
      return (await body(client.GET("/api/v1/notifications/deliveries", { params, signal }))).deliveries;
    },
    refetchInterval: ({ state }) =>
      pollInterval(state.data?.some(({ status }) => status === "waiting") ?? false),
  });
}

export interface NewRule {
  target: string;
  on: NotifyEvent[];
  experiment_id: number;
}

export function useAddRule() {
  return useNotifyMutation((rule: NewRule) =>
    body(client.POST("/api/v1/notifications/rules", { body: { ...rule, owner: null } })),
  );
}

export function useRemoveRule() {
  return useNotifyMutation((id: number) =>
    done(client.DELETE("/api/v1/notifications/rules/{rule_id}", { params: { path: { rule_id: id } } })),
  );
}

export interface NewTarget {
  name: string;
  kind: TargetKind;
  address: string;
  secret: string | null;
}

export function useAddTarget() {
  return useNotifyMutation((target: NewTarget) =>
    body(client.POST("/api/v1/notifications/targets", { body: target })),
  );
}

export function useRemoveTarget() {
  return useNotifyMutation((id: number) =>
    done(client.DELETE("/api/v1/notifications/targets/{target_id}", { params: { path: { target_id: id } } })),
  );
}

/** Send a message to a target; the list of deliveries shows whether it arrived. */
export function useSendTest() {
  return useNotifyMutation((id: number) =>
    body(
      client.POST("/api/v1/notifications/targets/{target_id}/test", { params: { path: { target_id: id } } }),
    ),
  );
}

function useNotifyMutation<Request, Result>(send: (request: Request) => Promise<Result>) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.notify() }),
  });
}
