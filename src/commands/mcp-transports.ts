import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { EXIT, UserError } from "../domain/errors.js";
import { listenMcp } from "../mcp/http-listener.js";
import { type MailOffer, mailServer } from "../mcp/mail-server.js";
import { isLoopback } from "../platform/http/host-and-origin.js";
import type { CommandContext } from "./cli/command.js";
import { tokenOf } from "./flags/server-token.js";

/** Concurrent connections with --http. */
const MAX_CONNECTIONS = 256;

/** Serves one client over stdin and stdout, until they are closed. */
export async function overStdio(offer: MailOffer, { signal }: CommandContext): Promise<void> {
  const server = mailServer(offer);
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve;
    process.stdin.on("end", resolve).on("close", resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await server.connect(new StdioServerTransport());
  await closed;
  await server.close();
  // An open stdin would keep the process alive.
  process.stdin.destroy();
}

/** Serves a mailbox over HTTP until the user stops it. */
export async function overHttp(
  offer: MailOffer,
  { host, port }: { readonly host: string; readonly port: number },
  { settings, out, signal }: CommandContext,
): Promise<void> {
  const token = tokenOf({}, settings);
  if (token === null && !isLoopback(host)) {
    throw new UserError(
      "token_unusable",
      `--host ${host} would let others in, and ART_E_TOKEN is not set.`,
      "Make one: openssl rand -hex 24.",
    );
  }
  const serverFor = (path: string) => (path === "/mcp" ? mailServer(offer) : null);
  const listener = await listenMcp({ host, port, token, serverFor, maxConnections: MAX_CONNECTIONS }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new UserError(
        "port_unusable",
        `Port ${port} of ${host} cannot be listened on: ${error.code ?? error.message}.`,
        "Choose another with --port; 0 takes any that is free.",
        EXIT.failed,
      );
    },
  );
  out.result({ url: `${listener.origin}/mcp` }, () => `${listener.origin}/mcp`);
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await listener.close();
}
