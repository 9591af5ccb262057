/** The one way to the service: typed by its OpenAPI document, noting whether it answers. */
import createClient from "openapi-fetch";
import { noteAnswer, noteSilence, noteTrouble } from "./connection";
import type { components, paths } from "./schema";

export const client = createClient<paths>({
  baseUrl: window.location.origin,
  fetch: (request) => globalThis.fetch(request),
});

client.use({
  onResponse({ request, response }) {
    const { pathname } = new URL(request.url);
    if (response.status === 401)
      noteSilence("The service wants its token again: reload the page to sign in.");
    else if (response.status >= 500) noteTrouble(pathname);
    else noteAnswer(pathname);
  },
  onError({ request }) {
    // a request that this page itself gave up says nothing about the service
    if (!request.signal.aborted) noteSilence("The service does not answer.");
  },
});

/** What the service refused, in its own words. */
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
  error?: components["schemas"]["ErrorView"] | undefined;
  response: Response;
}

/** The body of an answer; throws ApiError when it is an error. */
export async function body<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (data !== undefined) return data;
  // what stands between (a proxy) may answer in a shape of its own
  const problem = (error as { error?: { message: string } } | undefined)?.error;
  throw new ApiError(response.status, problem?.message ?? `the service answered ${response.status}`);
}
