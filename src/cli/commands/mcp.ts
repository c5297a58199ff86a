// The command `mcp`: one mailbox, or the runs, for an MCP client.
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { z } from "zod";
import { EXIT, type ExitCode, UserError } from "../../platform/errors.js";
import { day, text, toggle, wholeNumber } from "../../platform/flag-values.js";
import { isLoopback } from "../../platform/http.js";
import type { MailOffer } from "../../tools/mcp-server.js";
import { type CommandContext, PROGRAM } from "../command.js";
import { optionalMailbox } from "../flags/argument-schemas.js";
import { contradiction, defineCommand } from "../flags/define-command.js";
import { tokenOf } from "../flags/server-flags.js";
import { untilAborted } from "../interrupts.js";

const DEFAULT_PORT = 8788;

/** Writes only protocol messages to stdout, unless --http is used. Ends when the client closes stdin, or on Ctrl-C. */
export const mcpCommand = defineCommand(
  z.object({
    mailbox: optionalMailbox,
    before: day.optional().meta({ description: "Hide emails of this date and later ones (YYYY-MM-DD)" }),
    runs: toggle.meta({ description: "Serve runs, traces, scores and labels instead of a mailbox, to be read only" }),
    mail: toggle.meta({ description: "With --runs: include the text of emails in traces" }),
    http: toggle.meta({ description: "Use streamable HTTP instead of stdio" }),
    printConfig: toggle.meta({ description: "Print the config for MCP clients, and exit" }),
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
    if (flags.runs && (flags.mailbox !== undefined || flags.before !== undefined)) {
      throw contradiction("--runs cannot be combined with MAILBOX or --before.", "Remove one of them.");
    }
    if (flags.mail && !flags.runs) throw contradiction("--mail requires --runs.", "Add --runs.");
    if (flags.runs) {
      const served = ["--runs", ...(flags.mail ? ["--mail"] : [])];
      if (flags.printConfig) return printClientConfig("runs", served, context);
      const { offerRuns } = await import("../../results/runs-over-mcp.js");
      return serveOffer(offerRuns(context, flags.mail), flags, context);
    }
    // Imported here, because `--help` does not need these modules.
    const { offerMailbox } = await import("../../tools/mcp-server.js");
    const { onlyMailbox } = await import("../../mail/mailboxes.js");
    const { withStore } = await import("../../store/open-store.js");
    return withStore(context.settings, async (db) => {
      const inbox = flags.mailbox ?? onlyMailbox(db);
      const offer = offerMailbox(db, inbox, flags.before, context.signal);
      const bound = flags.before === undefined ? [] : ["--before", flags.before];
      if (flags.printConfig) return printClientConfig("mail", [inbox, ...bound], context);
      return serveOffer(offer, flags, context);
    });
  },
);

async function serveOffer(
  offer: MailOffer,
  flags: { readonly http: boolean; readonly host: string; readonly port: number },
  context: CommandContext,
): Promise<ExitCode> {
  await (flags.http ? overHttp(offer, flags, context) : overStdio(offer, context));
  return EXIT.done;
}

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
 * Prints the configuration that starts `art-e mcp` with these arguments, in the format shared by MCP clients. Paths are
 * absolute, because a client runs in another folder and often with another PATH.
 */
function printClientConfig(
  server: "mail" | "runs",
  served: readonly string[],
  { settings, out }: CommandContext,
): ExitCode {
  const args = [PROGRAM, "mcp", ...served, "--db", resolve(settings.db)];
  const config = { mcpServers: { [server]: { command: process.execPath, args } } };
  out.result(config, () => JSON.stringify(config, null, 2));
  return EXIT.done;
}
