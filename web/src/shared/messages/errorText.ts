/** The reason of a failed query, for the middle of a sentence. */
import { ApiError } from "@/shared/api/client";

/** Return the service's own message, or why there is none. */
export function errorText(error: Error): string {
  if (!(error instanceof ApiError)) return "the service does not answer";
  // The service's message to programs names the header with the token.
  if (error.status === 401) return "you are signed out, or the session has ended";
  return error.message;
}
