import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport, StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { KeptStdioTransport, MAX_MESSAGE_BYTES, type StartServer } from "./kept-stdio.js";

/** Where a server is, with everything filled in. */
export type McpServer =
  | { readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> };

/** The server cannot be reached, or has ended; the message says so in one line. */
export class McpFailed extends Error {
  override readonly name = "McpFailed";
}

const CONNECT_MS = 60_000;

/** One connection to each server, shared by all that call it, made anew when it has died. */
export class McpConnections {
  readonly #clients = new Map<string, Promise<Client>>();
  readonly #transports = new Set<Transport>();
  #closed = false;

  constructor(private readonly startServer: StartServer) {}

  /** A living connection. `signal` gives up waiting for it, not the connection itself, which others may be waiting for. */
  async to(server: McpServer, signal: AbortSignal): Promise<Client> {
    signal.throwIfAborted();
    if (this.#closed) throw new McpFailed("The connections are closed");
    const key = JSON.stringify(server);
    let client = this.#clients.get(key);
    if (client === undefined) {
      client = this.#connect(server, () => this.#clients.delete(key));
      this.#clients.set(key, client);
      client.catch(() => this.#clients.delete(key));
    }
    return aborting(client, signal);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#transports].map((transport) => transport.close().catch(() => undefined)));
  }

  async #connect(server: McpServer, forget: () => void): Promise<Client> {
    const client = new Client({ name: "art-e", version: "1" });
    const transport = this.#transport(server);
    this.#transports.add(transport);
    client.onclose = () => {
      this.#transports.delete(transport);
      forget();
    };
    // A server that was started anew knows nothing of this session: the next call begins another.
    client.onerror = (error) => {
      if (error instanceof StreamableHTTPError && (error.code === 404 || error.code === 400)) forget();
    };
    try {
      await client.connect(transport, { timeout: CONNECT_MS });
      if (this.#closed) throw new McpFailed("The connections are closed");
      return client;
    } catch (error) {
      const words = transport instanceof KeptStdioTransport ? transport.lastWords : "";
      await client.close().catch(() => undefined);
      await transport.close().catch(() => undefined);
      this.#transports.delete(transport);
      const why = error instanceof Error ? error.message : String(error);
      const line = words.split("\n").at(-1) ?? "";
      throw new McpFailed(`The MCP server cannot be reached: ${why}${line === "" ? "" : ` (${line})`}`);
    }
  }

  #transport(server: McpServer): Transport {
    if ("command" in server) return new KeptStdioTransport(() => this.startServer(server.command, server.env));
    return new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { ...server.headers } },
      fetch: limitedFetch,
    }) as Transport;
  }
}

/** A server must not fill this process's memory: what it answers ends at the size of the largest message. */
async function limitedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
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
