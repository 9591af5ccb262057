/** The client of the service: typed by the OpenAPI document; each answer updates the state of the connection. */
import createClient from "openapi-fetch";
import { ROOT, serviceAddress } from "@/shared/page/root";
import { recordDate } from "./clock";
import { recordAnswer, recordServerError, recordSignedOut, recordUnreachable } from "./connection";
import { markHeader } from "./marks";
import type { components, paths } from "./schema";

const READINESS = serviceAddress("/api/v1/ready");

export const client = createClient<paths>({
  baseUrl: window.location.origin + ROOT,
  fetch: (request) => globalThis.fetch(request),
});

client.use({
  onRequest({ request }) {
    const headers = request.method === "GET" ? markHeader() : userHeader();
    for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
  },
  async onResponse({ request, response }) {
    const { pathname } = new URL(request.url);
    recordDate(response.headers.get("date"));
    if (response.status === 401) recordSignedOut();
    else if (pathname === READINESS)
      recordAnswer(pathname); // its 503 is an answer: the API itself works
    else if (response.status >= 500) recordServerError(pathname, await detailOf(response.clone()));
    else recordAnswer(pathname);
  },
  onError({ request }) {
    // An aborted request shows nothing about the service.
    if (!request.signal.aborted) recordUnreachable();
  },
});

type Problem = components["schemas"]["Problem"];

/** An error answer of the service, with the service's own message. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly fields: Problem["errors"] = [], // the invalid fields
  ) {
    super(message);
  }
}

interface Answer<T> {
  data?: T;
  error?: Problem | undefined;
  response: Response;
}

/** Return the body of an answer; throw ApiError when the answer is an error. */
export async function body<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (data !== undefined) return data;
  throw new ApiError(
    response.status,
    messageOf(error) ?? `the service answered ${response.status}`,
    error?.errors,
  );
}

/** Wait for an answer without content; throw ApiError when the answer is an error. */
export async function done(answer: Promise<Answer<unknown>>): Promise<void> {
  const { error, response } = await answer;
  if (response.ok) return;
  throw new ApiError(response.status, messageOf(error) ?? `the service answered ${response.status}`);
}

/** Return the message of a problem document with its invalid fields: "the request is not valid: hosts: at most 4096". */
function messageOf(problem: Partial<Problem> | undefined): string | undefined {
  // A proxy in front of the service may answer in its own format.
  if (typeof problem?.detail !== "string") return undefined;
  const { detail, errors = [] } = problem;
  const fields = errors
    .filter(({ message }) => !detail.includes(message))
    .map(({ path, message }) => (path ? `${path}: ${message}` : message));
  return [detail, fields.join("; ")].filter(Boolean).join(": ");
}

async function detailOf(response: Response): Promise<string | undefined> {
  try {
    return messageOf((await response.json()) as Partial<Problem>);
  } catch {
    return undefined; // no JSON, so not an answer of the service
  }
}

/** The name of this browser's user, which its sign-in stored: changes are made in this name, and it gives no rights. */
const KEY = "user";

/** Return the header that names the user; none without a name that HTTP allows. */
function userHeader(): Record<string, string> {
  const name = localStorage.getItem(KEY) ?? "";
  return /^[ -~]{1,100}$/.test(name) ? { "Bigbatch-User": name } : {};
}

/**
 * The reason of a failed query, for the middle of a sentence.
 *
 * Return the service's own message, or why there is none.
 */
export function errorText(error: Error): string {
  if (!(error instanceof ApiError)) return "the service does not answer";
  // The service's message to programs names the header with the token.
  if (error.status === 401) return "you are signed out, or the session has ended";
  return error.message;
}
