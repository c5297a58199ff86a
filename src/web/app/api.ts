// Calls the server's API from the pages, with its token, and reads event streams.
import { presentProperties } from "../../platform/optional-values.js";
import { SECTIONS } from "./sections.js";

const TOKEN_KEY = "art-e-token";

interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** An error in the API's responses. */
interface ErrorJson {
  readonly message: string;
  readonly details?: {
    readonly reason?: string;
    readonly hint?: string;
    /** The current value, after a conflict. */
    readonly current?: { readonly id?: unknown; readonly created_at?: unknown };
  } | null;
}

/** Throws an Error with the server's message. Prompts the user for a token if the server requires one. */
export async function get<T>(path: string): Promise<T> {
  return (await request(path, {})).json() as Promise<T>;
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return (await request(path, { method: "POST", body })).json() as Promise<T>;
}

export async function patch<T>(path: string, body: unknown): Promise<T> {
  return (await request(path, { method: "PATCH", body })).json() as Promise<T>;
}

export async function remove(path: string): Promise<void> {
  await request(path, { method: "DELETE" });
}

/** Yields the events of a POST route. Throws if the server ends the connection early. */
export async function* postEvents<T>(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<T> {
  yield* readEvents<T>(await request(path, { method: "POST", body, signal }));
}

/** Yields the events of a GET route. Throws if the server ends the connection early. */
export async function* getEvents<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
  yield* readEvents<T>(await request(path, { signal }));
}

/** The server refused a request. */
export class RefusedRequest extends Error {
  constructor(
    message: string,
    readonly details: ErrorJson["details"],
  ) {
    super(message);
  }
}

async function request(path: string, { method = "GET", body, signal }: RequestOptions): Promise<Response> {
  for (;;) {
    const token = sessionStorage.getItem(TOKEN_KEY);
    const response = await fetchOrExplain(path, {
      method,
      ...presentProperties({ signal, body: body === undefined ? null : JSON.stringify(body) }),
      headers: presentProperties({
        "content-type": body === undefined ? null : "application/json",
        authorization: token === null ? null : `Bearer ${token}`,
      }),
    });
    if (response.ok) return response;
    if (response.status !== 401) throw await refusedRequest(response);
    await askForToken();
  }
}

async function fetchOrExplain(path: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Error("This page's server is not responding. It might have stopped. Start it again, then reload.");
  }
}

async function refusedRequest(response: Response): Promise<RefusedRequest> {
  try {
    const { error } = (await response.json()) as { error: ErrorJson };
    return new RefusedRequest(errorText(error), error.details);
  } catch {
    return new RefusedRequest(`The server returned ${response.status}.`, null);
  }
}

let pendingToken: Promise<void> | null = null;

/** Opens only one dialog, regardless of the number of refused requests. */
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

const { scope } = document.documentElement.dataset;

const sections = SECTIONS[scope === "run" || scope === "review" ? scope : "all"];

export const pageScope = { home: sections[0], sections: new Set<string>(sections) };

/** Whether this is the page of a single run. */
export const isRunPage = scope === "run";

/** Yields the events of a response up to `[DONE]`. Throws if the stream ends without it. */
async function* readEvents<T>(response: Response): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = "";
  for (;;) {
    const chunk = await reader?.read();
    if (chunk?.value === undefined) throw new Error("The server ended the connection early.");
    text += decoder.decode(chunk.value, { stream: true });
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      if (!event.startsWith("data: ")) continue;
      const data = event.slice("data: ".length);
      if (data === "[DONE]") return;
      yield JSON.parse(data) as T;
    }
  }
}

/** Texts that replace server messages about commands, flags or files, by error reason. */
const BY_REASON: Readonly<Record<string, string>> = {
  agent_unknown: "Unknown agent. See the list under Agents.",
  tool_unknown: "Unknown tool. See the list under Tools.",
  eval_unknown: "Unknown eval. See the list under Evals.",
  run_unknown: "Unknown run. It might have been deleted. See the list under Runs.",
  trace_unknown: "Unknown trace. Its run might have been deleted. See the list under Traces.",
  session_unknown: "This chat no longer exists. Start a new session.",
  session_bound: "This chat belongs to another mailbox or date. Start a new session.",
  mail_unknown: "This email was not imported.",
  inbox_unknown: "No imported email is from or to this address.",
  api_key_missing: "The server has no key for this provider. Choose another model, such as offline/baseline.",
  model_missing: "Choose a model, such as offline/baseline or anthropic/NAME.",
  model_unknown: "The provider of this model is unclear. Write openai/NAME, anthropic/NAME or google/NAME.",
  provider_unknown: "The provider of this model is unknown. Write openai/NAME, anthropic/NAME or google/NAME.",
  model_flags_contradict: "The model belongs to another provider.",
  base_url_invalid: "This server was started with an invalid URL for the model server.",
};

/** Errors with a useful hint on the page: similar addresses. */
const WITH_HINT: ReadonlySet<string> = new Set(["inbox_unknown"]);

/** A command or flag, which is meaningless on this page. */
const COMMAND_LINE = /(^|\s|\()(--?[a-z]|art-e [a-z]+)/;

function errorText({ message, details }: ErrorJson): string {
  const { reason = "", hint = "" } = details ?? {};
  const own = BY_REASON[reason];
  const isUseful = hint !== "" && !COMMAND_LINE.test(hint) && (own === undefined || WITH_HINT.has(reason));
  return isUseful ? `${own ?? message} ${hint}` : (own ?? message);
}
