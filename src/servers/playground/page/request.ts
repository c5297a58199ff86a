import type { ChatEvent } from "./chat/chat-events.js";
import { errorText } from "./error-text.js";
import { readEvents } from "./sse-reader.js";

const TOKEN_KEY = "art-e-token";

interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Throws an Error with what the server says; asks the user for a token where the server wants one. */
export async function get<T>(path: string): Promise<T> {
  return (await request(path, {})).json() as Promise<T>;
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return (await request(path, { method: "POST", body })).json() as Promise<T>;
}

export async function remove(path: string): Promise<void> {
  await request(path, { method: "DELETE" });
}

/** The events of a chat; throws where the server breaks off. */
export async function* chatEvents(agentId: string, body: unknown, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  const path = `/api/agents/${encodeURIComponent(agentId)}/playground/chat`;
  yield* readEvents<ChatEvent>(await request(path, { method: "POST", body, signal }));
}

/** The events of a GET route; throws where the server breaks off. */
export async function* getEvents<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
  yield* readEvents<T>(await request(path, { signal }));
}

/** The server's refusal of a request. */
export class RefusedRequest extends Error {}

async function request(path: string, { method = "GET", body, signal }: RequestOptions): Promise<Response> {
  for (;;) {
    const token = sessionStorage.getItem(TOKEN_KEY);
    const response = await fetchOrExplain(path, {
      method,
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
    });
    if (response.ok) return response;
    if (response.status !== 401) throw new RefusedRequest(await refusalText(response));
    await askForToken();
  }
}

async function fetchOrExplain(path: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Error("The server of this page does not answer: it may have ended.");
  }
}

async function refusalText(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error: Parameters<typeof errorText>[0] };
    return errorText(error);
  } catch {
    return `The server answers ${response.status}.`;
  }
}

let pendingToken: Promise<void> | null = null;

/** Opens one dialog, however many requests were refused. */
function askForToken(): Promise<void> {
  pendingToken ??= new Promise((resolve) => {
    const dialog = document.querySelector<HTMLDialogElement>("#token-dialog");
    const field = document.querySelector<HTMLInputElement>("#token");
    if (dialog === null || field === null) return;
    field.value = "";
    dialog.addEventListener(
      "close",
      () => {
        pendingToken = null;
        sessionStorage.setItem(TOKEN_KEY, field.value.trim());
        resolve();
      },
      { once: true },
    );
    dialog.showModal();
  });
  return pendingToken;
}
