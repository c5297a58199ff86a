import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { UserError } from "../domain/errors.js";
import { isLoopback } from "../platform/http-access.js";
import { createApp } from "./app.js";
import type { WriteLog } from "./http/access-log.js";
import type { Access } from "./http/auth.js";
import type { Services } from "./http/services.js";

/** How long the parts of a request may take to come in. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const CHECK_MS = 5_000;

/** Beside those of chats, each of which holds one. */
const MOST_OTHER_CONNECTIONS = 256;

/** After their end was called for, chats have so long to say goodbye. */
const GOODBYE_MS = 2_000;

export interface Running {
  /** `http://127.0.0.1:8787` */
  readonly url: string;
  /** Takes no more requests; chats under way have `graceMs` to finish. Resolves when everything is closed. */
  stop(graceMs: number): Promise<void>;
}

/** Listens. Port 0 takes any that is free. Throws a UserError where the address cannot be had, or is open to all. */
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
  server.maxConnections = services.chats.max + MOST_OTHER_CONNECTIONS;
  const requests = new UnderWay(server);
  await listen(server, port, access.host);
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${access.host.includes(":") ? `[${access.host}]` : access.host}:${taken}`,
    async stop(graceMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const cut = setTimeout(() => server.closeAllConnections(), graceMs + GOODBYE_MS);
      await services.chats.stop(graceMs);
      await requests.none();
      // Browsers keep connections that they have asked nothing on; the server does not call those idle.
      server.closeAllConnections();
      await closed;
      clearTimeout(cut);
    },
  };
}

/** Requests whose answers have not been sent to their end. */
class UnderWay {
  private count = 0;
  private onNone: (() => void) | null = null;

  constructor(server: Server) {
    server.on("request", (_, response) => {
      this.count++;
      response.once("close", () => {
        this.count--;
        if (this.count === 0) this.onNone?.();
      });
    });
  }

  async none(): Promise<void> {
    if (this.count === 0) return;
    await new Promise<void>((resolve) => {
      this.onNone = resolve;
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
