// The command `mcp`: one mailbox for an MCP client.
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { z } from "zod";
import { EXIT, UserError } from "../../platform/errors.js";
import { day, mailbox, text, toggle, wholeNumber } from "../../platform/flag-values.js";
import { isLoopback } from "../../platform/http.js";
import type { MailOffer } from "../../tools/mcp-server.js";
import { type CommandContext, PROGRAM } from "../command.js";
import { contradiction, defineCommand } from "../flags/define-command.js";
import { tokenOf } from "../flags/server-flags.js";
import { untilAborted } from "../interrupts.js";

interface OfferedMailbox {
  readonly inbox: string;
  readonly before?: string | undefined;
}

const DEFAULT_PORT = 8788;

/** Writes only protocol messages to stdout, unless --http is used. Ends when the client closes stdin, or on Ctrl-C. */
export const mcpCommand = defineCommand(
  z.object({
    inbox_address: mailbox.optional().meta({ description: "Email address of the mailbox [default: the only mailbox]" }),
    inbox: mailbox.optional().meta({ description: "Same as INBOX_ADDRESS" }),
    before: day.optional().meta({ description: "Hide emails of this date and later ones (YYYY-MM-DD)" }),
    http: toggle.meta({ description: "Use streamable HTTP instead of stdio" }),
    printConfig: toggle.meta({ description: "Print the configuration for MCP clients, and exit" }),
    host: text.default("127.0.0.1").meta({
      placeholder: "ADDRESS",
      description: "With --http: address to listen on (ART_E_TOKEN is required if it is not loopback)",
    }),
    port: wholeNumber(0, 65_535)
      .default(DEFAULT_PORT)
      .meta({ description: `With --http: port (0 = any free port) [default: ${DEFAULT_PORT}]` }),
  }),
  async (flags, context, argv) => {
    const httpOnly = ["host", "port"].find((name) => argv[name] !== undefined);
    if (httpOnly !== undefined && !flags.http) {
      throw contradiction(`--${httpOnly} requires --http.`, "Add --http.");
    }
    if (flags.printConfig && flags.http) {
      throw contradiction(
        "--print-config and --http cannot be combined.",
        "Remove one of them. Over HTTP, a client only needs the URL.",
      );
    }
    const named = flags.inbox_address ?? flags.inbox;
    if (flags.inbox !== undefined && flags.inbox !== named) {
      throw contradiction(`INBOX_ADDRESS (${named}) and --inbox (${flags.inbox}) differ.`, "Pass one of them.");
    }
    // Imported here, because `--help` does not need these modules.
    const { offerMailbox } = await import("../../tools/mcp-server.js");
    const { onlyMailbox } = await import("../../mail/mailboxes.js");
    const { withStore } = await import("../../store/open-store.js");
    return withStore(context.settings, async (db) => {
      const inbox = named ?? onlyMailbox(db);
      const offer = offerMailbox(db, inbox, flags.before, context.signal);
      if (flags.printConfig) {
        const config = mcpClientConfig({ inbox, before: flags.before }, context.settings.db);
        context.out.result(config, () => JSON.stringify(config, null, 2));
        return EXIT.done;
      }
      await (flags.http ? overHttp(offer, flags, context) : overStdio(offer, context));
      return EXIT.done;
    });
  },
);

/** Maximum concurrent connections with --http. */
const MAX_CONNECTIONS = 256;

/** Serves one client over stdin and stdout until they are closed. */
async function overStdio(offer: MailOffer, { signal }: CommandContext): Promise<void> {
  const [{ serveStdio, StdioServerTransport }, { mailServer }] = await Promise.all([
    import("@modelcontextprotocol/server/stdio"),
    import("../../tools/mcp-server.js"),
  ]);
  const closed = new Promise<void>((resolve) => {
    process.stdin.on("end", resolve).on("close", resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const connection = serveStdio(() => mailServer(offer), {
    transport: new StdioServerTransport(Readable.from(jsonLines(process.stdin))),
    onerror(error) {
      if (error instanceof z.core.$ZodError) answerUnread(-32600, "Invalid Request");
    },
  });
  await closed;
  await connection.close();
  // An open stdin would keep the process alive.
  process.stdin.destroy();
}

/**
 * Yields the lines that contain JSON, and answers all others with a parse error. The SDK would drop invalid lines and
 * leave the client waiting.
 */
async function* jsonLines(input: NodeJS.ReadableStream): AsyncGenerator<Buffer> {
  for await (const line of createInterface({ input })) {
    try {
      JSON.parse(line);
      yield Buffer.from(`${line}\n`);
    } catch {
      answerUnread(-32700, "Parse error");
    }
  }
}

function answerUnread(code: number, message: string): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } })}\n`);
}

/** Serves a mailbox over HTTP until the user stops it. */
async function overHttp(
  offer: MailOffer,
  { host, port }: { readonly host: string; readonly port: number },
  { settings, out, signal }: CommandContext,
): Promise<void> {
  const token = tokenOf({}, settings);
  if (token === null && !isLoopback(host)) {
    throw new UserError(
      "token_unusable",
      `--host ${host} accepts other machines and requires a token, but ART_E_TOKEN is not set.`,
      "Create a token: openssl rand -hex 24.",
    );
  }
  const { listenMcp, mailServer } = await import("../../tools/mcp-server.js");
  const serverFor = (path: string) => (path === "/mcp" ? mailServer(offer) : null);
  const listener = await listenMcp({ host, port, token, serverFor, maxConnections: MAX_CONNECTIONS }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new UserError(
        "port_unusable",
        `Cannot listen on port ${port} of ${host}: ${error.code ?? error.message}.`,
        "Pass another port with --port (0 = any free port).",
        EXIT.failed,
      );
    },
  );
  out.result({ url: `${listener.origin}/mcp` }, () => `${listener.origin}/mcp`);
  await untilAborted(signal);
  await listener.close();
}

/**
 * Returns the configuration that starts `art-e mcp` for this mailbox, in the format shared by MCP clients. Paths are
 * absolute, because a client runs in another folder and often with another PATH.
 */
function mcpClientConfig({ inbox, before }: OfferedMailbox, db: string) {
  const bound = before === undefined ? [] : ["--before", before];
  const args = [PROGRAM, "mcp", inbox, ...bound, "--db", resolve(db)];
  return { mcpServers: { mail: { command: process.execPath, args } } };
}
