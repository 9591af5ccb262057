/** The client of the service: typed by the OpenAPI document; each answer updates the state of the connection. */
import createClient from "openapi-fetch";
import { recordAnswer, recordServerError, recordUnreachable } from "./connection";
import type { components, paths } from "./schema";

export const client = createClient<paths>({
  baseUrl: window.location.origin,
  fetch: (request) => globalThis.fetch(request),
});

client.use({
  onResponse({ request, response }) {
    const { pathname } = new URL(request.url);
    if (response.status === 401)
      recordUnreachable("You are not signed in, or the session has ended: reload the page to sign in.");
    else if (response.status >= 500) recordServerError(pathname);
    else recordAnswer(pathname);
  },
  onError({ request }) {
    // An aborted request shows nothing about the service.
    if (!request.signal.aborted) recordUnreachable("The service does not answer.");
  },
});

/** An error answer of the service, with the service's own message. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

interface Answer<T> {
  data?: T;
  error?: components["schemas"]["Problem"] | undefined;
  response: Response;
}

/** Return the body of an answer; throw ApiError when the answer is an error. */
export async function body<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (data !== undefined) return data;
  // A proxy in front of the service may answer in its own format.
  const detail = (error as { detail?: string } | undefined)?.detail;
  throw new ApiError(response.status, detail ?? `the service answered ${response.status}`);
}
