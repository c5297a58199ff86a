import { z } from "zod";
import { EXIT, UserError } from "../domain/errors.js";
import type { Command } from "./cli/command.js";
import { day, readFlags, text, wholeNumber } from "./cli/read-flags.js";
import { mcpClientConfig } from "./mcp-client-config.js";

const DEFAULT_PORT = 8788;

const schema = z.object({
  inbox: text,
  before: day.optional(),
  http: z.boolean().default(false),
  printConfig: z.boolean().default(false),
  host: text.default("127.0.0.1"),
  port: wholeNumber(0, 65_535).default(DEFAULT_PORT),
});

/** On stdio only the protocol is written to stdout. Ends when the client closes stdin, or on Ctrl-C. */
export const mcpCommand: Command = {
  flags: {
    inbox: { type: "string", requiresArg: true, describe: "The mailbox: its email address; required" },
    before: { type: "string", requiresArg: true, describe: "Mail from this day on is invisible, YYYY-MM-DD" },
    "print-config": { type: "boolean", describe: "Print the configuration for programs that start it, and exit" },
    http: { type: "boolean", describe: "Streamable HTTP instead of stdio" },
    host: {
      type: "string",
      requiresArg: true,
      describe: "With --http: the address to listen on; any but loopback needs ART_E_TOKEN [default: 127.0.0.1]",
    },
    port: {
      type: "number",
      requiresArg: true,
      describe: `With --http; 0: any that is free [default: ${DEFAULT_PORT}]`,
    },
  },
  async run(argv, context) {
    if (argv.inbox === undefined) {
      throw new UserError("flag_missing", "--inbox is missing.", "Name the mailbox: art-e mcp --inbox ADDRESS.");
    }
    const flags = readFlags("mcp", schema, argv);
    const httpOnly = ["host", "port"].find((name) => argv[name] !== undefined);
    if (httpOnly !== undefined && !flags.http) {
      throw new UserError("flags_contradict", `--${httpOnly} is for --http, which is not given.`, "Add --http.");
    }
    if (flags.printConfig && flags.http) {
      throw new UserError(
        "flags_contradict",
        "--print-config is for programs that start the server, --http for those that call it.",
        "Leave one of them out; over HTTP a client needs the address only.",
      );
    }
    // Loaded here: `--help` needs none of it.
    const [{ offerMailbox }, { overHttp, overStdio }] = await Promise.all([
      import("../app/mailbox/offer-mailbox.js"),
      import("./mcp-transports.js"),
    ]);
    const { withStore } = await import("../app/with-store.js");
    return withStore(context.settings, async (db) => {
      const offer = offerMailbox(db, flags.inbox, flags.before, context.signal);
      if (flags.printConfig) {
        const config = mcpClientConfig(flags, context.settings.db);
        context.out.result(config, () => JSON.stringify(config, null, 2));
        return EXIT.done;
      }
      await (flags.http ? overHttp(offer, flags, context) : overStdio(offer, context));
      return EXIT.done;
    });
  },
};
