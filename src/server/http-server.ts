import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { createAdaptorServer } from "@hono/node-server";
import type { Hono } from "hono";
import { limitConnections } from "../platform/connection-limit.js";
import { UserError } from "../platform/errors.js";
import { isLoopback } from "../platform/http.js";
import type { Access } from "./api-error.js";
import type { Env } from "./route.js";

/** Time limits for receiving a request. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const CHECK_MS = 5_000;

export interface HttpServer {
  /** `http://127.0.0.1:8787` */
  readonly url: string;
  /**
   * Takes no more requests, and resolves when those under way are finished, which `endWork` is to bring about. After
   * `forceAfterMs` their connections are closed.
   */
  close(forceAfterMs: number, endWork: () => Promise<void>): Promise<void>;
}

/** Throws a UserError where an address that others can reach has no token: anybody could spend on the user's keys. */
export function refuseOpenAddress({ host, token }: Omit<Access, "cors">): void {
  if (isLoopback(host) || token !== null) return;
  throw new UserError(
    "serve_open",
    `--host ${host} can be reached by others, and there is no token.`,
    "Set ART_E_TOKEN or give --token-file, or leave --host out: the server is for this machine only then.",
  );
}

/** Takes over the connection of a request for another protocol. */
type OnUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Port 0 takes any that is free. Throws a UserError where the address is in use. */
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
      // Browsers open connections in advance; node does not count those as idle.
      server.closeAllConnections();
      await closed;
      clearTimeout(forceClose);
    },
  };
}

/** Counts requests whose responses are not finished. */
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
      const hint = "Choose another one with --port (0: any that is free) or --host.";
      reject(new UserError("serve_address", `Cannot listen on port ${port} of ${host}: ${why}.`, hint, 1, { cause }));
    });
    server.listen(port, host.replace(/^\[|\]$/g, ""), resolve);
  });
}
