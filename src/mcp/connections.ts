import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport, StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { redact } from "../domain/redact.js";
import { MAX_MESSAGE_BYTES, type StartServer, SupervisedStdioTransport } from "./supervised-stdio.js";

/** How to reach a server, with variables filled in. */
export type McpServer =
  | { readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> };

/** The server cannot be reached, or has ended; the message says so in one line. */
export class McpFailed extends Error {
  override readonly name = "McpFailed";
}

const CONNECT_MS = 60_000;

/** One shared connection per server, reopened after it was lost. */
export class McpConnections {
  readonly #clients = new Map<string, Promise<Client>>();
  readonly #transports = new Set<Transport>();
  #closed = false;

  constructor(private readonly startServer: StartServer) {}

  /**
   * An open connection. `secrets` are redacted from errors. `signal` aborts only the wait, not the connection, which
   * other callers may share.
   */
  async to(server: McpServer, signal: AbortSignal, secrets: readonly string[] = []): Promise<Client> {
    signal.throwIfAborted();
    if (this.#closed) throw new McpFailed("The connections are closed");
    const key = JSON.stringify(server);
    let client = this.#clients.get(key);
    if (client === undefined) {
      client = this.#connect(server, secrets, () => this.#clients.delete(key));
      this.#clients.set(key, client);
      client.catch(() => this.#clients.delete(key));
    }
    return aborting(client, signal);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#transports].map((transport) => transport.close().catch(() => undefined)));
  }

  async #connect(server: McpServer, secrets: readonly string[], forget: () => void): Promise<Client> {
    const client = new Client({ name: "art-e", version: "1" });
    const transport = this.#transport(server, secrets);
    this.#transports.add(transport);
    client.onclose = () => {
      this.#transports.delete(transport);
      forget();
    };
    // A restarted server does not know this session: the next call opens another.
    client.onerror = (error) => {
      if (error instanceof StreamableHTTPError && (error.code === 404 || error.code === 400)) forget();
    };
    try {
      await client.connect(transport, { timeout: CONNECT_MS });
      if (this.#closed) throw new McpFailed("The connections are closed");
      return client;
    } catch (error) {
      const words = transport instanceof SupervisedStdioTransport ? transport.lastWords : "";
      await client.close().catch(() => undefined);
      await transport.close().catch(() => undefined);
      this.#transports.delete(transport);
      const why = redact(error instanceof Error ? error.message : String(error), secrets);
      const line = words.split("\n").at(-1) ?? "";
      throw new McpFailed(`The MCP server cannot be reached: ${why}${line === "" ? "" : ` (${line})`}`);
    }
  }

  #transport(server: McpServer, secrets: readonly string[]): Transport {
    if ("command" in server) {
      return new SupervisedStdioTransport(() => this.startServer(server.command, server.env), secrets);
    }
    return new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { ...server.headers } },
      fetch: limitedFetch,
    }) as Transport;
  }
}

const MAX_REDIRECTS = 5;

/**
 * Redirects stay within the origin: the headers, which may hold a key, and the arguments were meant for that server.
 */
async function fetchWithinOrigin(url: string | URL, init?: RequestInit): Promise<Response> {
  let at = new URL(url);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await fetch(at, { ...init, redirect: "manual" });
    const location = response.headers.get("location");
    if (location === null || ![301, 302, 307, 308].includes(response.status)) return response;
    await response.body?.cancel();
    const next = URL.parse(location, at.href);
    if (next?.origin !== at.origin) {
      throw new McpFailed(
        `it redirects to ${next?.origin ?? "elsewhere"}, which is not asked: give that address instead`,
      );
    }
    at = next;
  }
  throw new McpFailed(`it redirects more than ${MAX_REDIRECTS} times`);
}

/** Bounds memory: a response is cut at the size of the largest message. */
async function limitedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetchWithinOrigin(url, init);
  if (response.body === null) return response;
  let bytes = 0;
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length;
        if (bytes > MAX_MESSAGE_BYTES) controller.error(new McpFailed("The MCP server answered with too much"));
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(counted, { status, statusText, headers });
}

async function aborting<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
  });
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
