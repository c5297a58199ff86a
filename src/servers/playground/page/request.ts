import type { ChatEvent } from "./chat-events.js";

const TOKEN_KEY = "art-e-token";

interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Throws an Error with the server's own message; asks the user for a token where the server wants one. */
export async function get<T>(path: string): Promise<T> {
  return (await request(path, {})).json() as Promise<T>;
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return (await request(path, { method: "POST", body })).json() as Promise<T>;
}

export async function remove(path: string): Promise<void> {
  await request(path, { method: "DELETE" });
}

/** The events of a chat up to `[DONE]`; throws where the stream ends without it. */
export async function* chatEvents(agentId: string, body: unknown, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  const path = `/api/agents/${encodeURIComponent(agentId)}/playground/chat`;
  const response = await request(path, { method: "POST", body, signal });
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = "";
  for (;;) {
    const chunk = await reader?.read();
    if (chunk?.value === undefined) throw new Error("The server broke off before the end of the answer.");
    text += decoder.decode(chunk.value, { stream: true });
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      if (!event.startsWith("data: ")) continue;
      const data = event.slice("data: ".length);
      if (data === "[DONE]") return;
      yield JSON.parse(data) as ChatEvent;
    }
  }
}

async function request(path: string, { method = "GET", body, signal }: RequestOptions): Promise<Response> {
  for (;;) {
    const token = sessionStorage.getItem(TOKEN_KEY);
    const response = await fetch(path, {
      method,
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
    });
    if (response.ok) return response;
    if (response.status !== 401) throw new Error(await errorText(response));
    await askForToken();
  }
}

async function errorText(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error: { message: string; details?: { hint?: string } | null } };
    return error.details?.hint ? `${error.message} ${error.details.hint}` : error.message;
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
