/** GET /runs/names and /runs/values: the names and values that a query may have. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import type { FieldName } from "@/shared/api/types";

const NONE: FieldName[] = [];
const FRESH_MS = 60_000;

export function useFieldNames() {
  const { data, error } = useQuery({
    queryKey: keys.fieldNames(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/runs/names", { signal })),
    staleTime: FRESH_MS,
  });
  return { names: data?.names ?? NONE, isKnown: data !== undefined, error };
}

export interface FieldValue {
  label: string;
  text: string; // as a query has it
}

const NO_VALUES: FieldValue[] = [];

/** Return values of a field; none without a field, and none of a field that no run has. */
export function useFieldValues(name: string | null): FieldValue[] {
  const { data } = useQuery({
    queryKey: keys.fieldValues(name ?? ""),
    queryFn: ({ signal }) => {
      const params = { query: { name: name ?? "" } };
      return body(client.GET("/api/v1/runs/values", { params, signal }));
    },
    enabled: name !== null,
    staleTime: FRESH_MS,
    retry: false,
  });
  return (
    data?.values.map((value, index) => ({ label: String(value), text: data.texts[index] ?? "" })) ?? NO_VALUES
  );
}
