/** The error of the table's query, from the answer that the table itself gets. */
import { useQuery } from "@tanstack/react-query";
import { keys } from "@/shared/api/keys";
import { type Asked, fetchRows, PAGE } from "./api/useRunTable";

export function useQueryError(asked: Asked): Error | null {
  const { error } = useQuery({
    queryKey: keys.runTable(asked, 0),
    queryFn: ({ signal }) => fetchRows(asked, 0, PAGE, signal),
    retry: false,
  });
  return error;
}
