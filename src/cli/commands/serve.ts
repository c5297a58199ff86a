// The command `serve`: the HTTP server with its pages.
import { z } from "zod";
import { commandLine, showDatabase } from "../../platform/command-line.js";
import { EXIT, UserError } from "../../platform/errors.js";
import { shapeOf, text, toggle, wholeNumber } from "../../platform/flag-values.js";
import { limitHeapGrowth } from "../../platform/heap-growth.js";
import { openInBrowser } from "../../platform/processes.js";
import { programVersion } from "../../platform/program-files.js";
import { OTLP_FLAGS, REQUEST_FLAGS } from "../../runs/run-flags.js";
import { sendsTraces } from "../../runs/run-options.js";
import { defineCommand } from "../flags/define-command.js";
import { listenShape, tokenOf } from "../flags/server-flags.js";
import { untilAborted } from "../interrupts.js";
import { reportFault } from "../terminal.js";

/** Milliseconds between heartbeats on silent streams. */
const HEARTBEAT_MS = 15_000;

export const serveCommand = defineCommand(
  z.object({
    ...listenShape(8787),
    cors: text
      .optional()
      .meta({ placeholder: "ORIGIN", description: "Another origin whose pages may send requests [default: none]" }),
    maxChats: wholeNumber(1, 10_000).default(64).meta({ description: "Maximum concurrent chats" }),
    chatTimeout: wholeNumber(1, 86_400)
      .default(600)
      .meta({ placeholder: "SECONDS", description: "Chat timeout in seconds" }),
    stallTimeout: wholeNumber(1, 3_600)
      .default(30)
      .meta({ placeholder: "SECONDS", description: "Seconds without a read by the client before its chat ends" }),
    requestTimeout: wholeNumber(1, 3_600)
      .default(180)
      .meta({ placeholder: "SECONDS", description: "Timeout per model call, in seconds" }),
    grace: wholeNumber(0, 3_600)
      .default(10)
      .meta({ placeholder: "SECONDS", description: "Seconds for running chats to finish when the server stops" }),
    ...shapeOf(REQUEST_FLAGS),
    allowPrograms: toggle.meta({
      description: "Let tools created over HTTP run programs, read the environment and reach private addresses",
    }),
    open: toggle.meta({ description: "Open the playground in the browser" }),
    ...shapeOf(OTLP_FLAGS),
  }),
  async (flags, context) => {
    limitHeapGrowth();
    sendsTraces(flags);
    const token = tokenOf(flags, context.settings);
    const cors = flags.cors === undefined ? null : originOf(flags.cors);
    const { header, body } = flags;
    const models = { chatMs: flags.chatTimeout * 1_000, modelCallMs: flags.requestTimeout * 1_000, header, body };
    const { ChatLimits } = await import("../../server/chat-limits.js");
    const { CorpusCopies } = await import("../../mail/corpus-transfer.js");
    const { withChatServices } = await import("../../server/chat-services.js");
    return withChatServices(models, flags, context, async (services) => {
      const corpus = new CorpusCopies(services.db, context.settings.cacheDir, programVersion());
      // From here on, messages go to clients, so they do not mention this machine's database file. The server takes
      // half a second to import, which --help and invalid flags do not need to wait for.
      showDatabase(null);
      const { startServer } = await import("../../server/create-app.js");
      const running = await startServer(
        {
          ...services,
          version: programVersion(),
          corpus,
          chats: new ChatLimits(flags.maxChats),
          stream: { heartbeatMs: HEARTBEAT_MS, stallMs: flags.stallTimeout * 1_000 },
          allowPrograms: flags.allowPrograms,
          cacheDir: context.settings.cacheDir,
          report: (fault, requestId) => reportFault(fault, requestId, context.out),
        },
        { host: flags.host, token, cors },
        flags.port,
        (line) => context.note(JSON.stringify(line)),
      );
      context.out.result(
        { url: running.url, token: token !== null },
        () => `art-e serves ${context.settings.db} at ${running.url}`,
      );
      if (flags.open && !(await openInBrowser(running.url))) {
        context.note(`art-e: no browser could be opened here; the page is at ${running.url}`);
      }
      await untilAborted(context.signal);
      await running.stop(flags.grace * 1_000);
      await corpus.close();
      return EXIT.done;
    });
  },
);

/** Returns the origin whose pages may call the API. Throws a UserError if `cors` is not a single origin. */
function originOf(cors: string): string {
  if (URL.canParse(cors) && new URL(cors).origin === cors) return cors;
  throw new UserError(
    "flag_invalid",
    "--cors: expected one origin, such as http://localhost:3000.",
    `See ${commandLine`art-e serve --help`}.`,
  );
}
