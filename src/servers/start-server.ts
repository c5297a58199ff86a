import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { UserError } from "../domain/errors.js";
import { isLoopback } from "../platform/http/host-and-origin.js";
import { createApp } from "./create-app.js";
import type { WriteLog } from "./http/access-log.js";
import type { Access } from "./http/auth.js";
import type { Services } from "./http/route-services.js";

/** Time limits for receiving a request. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const CHECK_MS = 5_000;

/** Besides the one connection of each chat. */
const MAX_OTHER_CONNECTIONS = 256;

/** After their abort, chats have so long to send their last events. */
const LAST_EVENTS_MS = 2_000;

export interface Running {
  /** `http://127.0.0.1:8787` */
  readonly url: string;
  /** Takes no more requests; running chats have `graceMs` to finish. Resolves when everything is closed. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Port 0 takes any that is free. Throws a UserError where the address is in use, or is open to others without a token.
 */
export async function startServer(services: Services, access: Access, port: number, write: WriteLog): Promise<Running> {
  if (!isLoopback(access.host) && access.token === null) {
    throw new UserError(
      "serve_open",
      `--host ${access.host} can be reached by others, and there is no token.`,
      "Set ART_E_TOKEN or give --token-file, or leave --host out: the server is for this machine only then.",
    );
  }
  const app = createApp(services, access, write);
  const server = createAdaptorServer({
    fetch: app.fetch,
    hostname: access.host,
    serverOptions: {
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: 5_000,
    },
  }) as Server;
  server.maxConnections = services.chats.max + MAX_OTHER_CONNECTIONS;
  const requests = new OpenRequests(server);
  await listen(server, port, access.host);
  const { port: actualPort } = server.address() as AddressInfo;
  return {
    url: `http://${access.host.includes(":") ? `[${access.host}]` : access.host}:${actualPort}`,
    async stop(graceMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const forceClose = setTimeout(() => server.closeAllConnections(), graceMs + LAST_EVENTS_MS);
      await services.chats.stop(graceMs);
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
