// Listens for HTTP with limits on connections and time, and refuses an open address without a token.
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { createAdaptorServer } from "@hono/node-server";
import type { Hono } from "hono";
import { limitConnections } from "../../platform/connection-limit.js";
import { UserError } from "../../platform/errors.js";
import { isLoopback } from "../../platform/http.js";
import type { Access } from "../access.js";
import type { Env } from "./route.js";

/** Time limits for receiving a request. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const CHECK_MS = 5_000;

export interface HttpServer {
  /** `http://127.0.0.1:8787` */
  readonly url: string;
  /**
   * Stops accepting requests and resolves when the running ones have finished, which `endWork` must cause. After
   * `forceAfterMs`, closes their connections.
   */
  close(forceAfterMs: number, endWork: () => Promise<void>): Promise<void>;
}

/** Takes over a connection that switches to another protocol. */
type OnUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * Throws a UserError if others can reach the host and no token is set, because anyone could then spend the user's API
 * credit.
 */
export function refuseOpenAddress({ host, token }: Omit<Access, "cors">): void {
  if (isLoopback(host) || token !== null) return;
  throw new UserError(
    "token_missing",
    `--host ${host}: other machines can reach the server, but no token is set.`,
    "Set ART_E_TOKEN, pass --token-file, or leave out --host to serve only this machine.",
  );
}

/** Starts listening. Port 0 selects any free port. Throws a UserError if the port is in use. */
export async function openHttpServer(
  app: Hono<Env>,
  host: string,
  port: number,
  maxConnections: number,
  onUpgrade?: OnUpgrade,
): Promise<HttpServer> {
  const server = createAdaptorServer({
    fetch: app.fetch,
    hostname: host,
    serverOptions: {
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: 5_000,
    },
  }) as Server;
  limitConnections(server, maxConnections);
  if (onUpgrade !== undefined) server.on("upgrade", onUpgrade);
  const requests = new OpenRequests(server);
  await listen(server, port, host);
  const { port: actualPort } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${actualPort}`,
    async close(forceAfterMs, endWork) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const forceClose = setTimeout(() => server.closeAllConnections(), forceAfterMs);
      await endWork();
      await requests.allFinished();
      // Browsers open connections in advance, which Node does not count as idle.
      server.closeAllConnections();
      await closed;
      clearTimeout(forceClose);
    },
  };
}

/** Counts requests with unfinished responses. */
class OpenRequests {
  private count = 0;
  private onFinished: (() => void) | null = null;

  constructor(server: Server) {
    server.on("request", (_, response) => {
      this.count++;
      response.once("close", () => {
        this.count--;
        if (this.count === 0) this.onFinished?.();
      });
    });
  }

  async allFinished(): Promise<void> {
    if (this.count === 0) return;
    await new Promise<void>((resolve) => {
      this.onFinished = resolve;
    });
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "it is in use" : cause.message;
      const hint = "Choose another port with --port (0 for any free port), or another --host.";
      reject(new UserError("port_unusable", `Cannot listen on ${host}, port ${port}: ${why}.`, hint, 1, { cause }));
    });
    server.listen(port, host.replace(/^\[|\]$/g, ""), resolve);
  });
}
