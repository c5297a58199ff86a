import type { SendRequest } from "../app/traces/send-traces.js";
import { EXIT, type ExitCode, UserError } from "../domain/errors.js";
import type { ScoreApi } from "../otlp/score-api-names.js";
import { count } from "../reports/text/format-number.js";
import type { CommandContext } from "./cli/command.js";

interface SendFlags extends Pick<SendRequest, "source" | "selection"> {
  readonly otlpEndpoint?: string | undefined;
  readonly scores?: ScoreApi | undefined;
  readonly noContent: boolean;
}

/** Sends traces and says what became of them. Spans that the server rejected make it a failure. */
export async function printSentTraces(flags: SendFlags, context: CommandContext): Promise<ExitCode> {
  const { source, selection, otlpEndpoint: endpoint, scores, noContent } = flags;
  const { sendTraces } = await import("../app/traces/send-traces.js");
  const sent = await sendTraces({ source, selection, endpoint, scores, content: !noContent }, context);
  const { settings, out } = context;
  if (settings.json) out.result(sent, () => "");
  const withScores = scores === undefined ? "" : ` and ${count(sent.scores)} scores`;
  const spans = `${count(sent.delivered)} spans${withScores}`;
  out.note(`${count(sent.traces)} traces of ${sent.runId ?? "chats"} sent to ${sent.host}: ${spans}.`);
  if (sent.shortened > 0) out.note(`${count(sent.shortened)} spans lack their largest texts: a request holds 4 MB.`);
  if (sent.rejected > 0) out.note(`The server rejected ${count(sent.rejected)} spans.`);
  for (const message of sent.messages) out.note(`The server says: ${message}`);
  return sent.rejected > 0 ? EXIT.failed : EXIT.done;
}

/** Flags that only make sense where the traces go into a file. */
export function refuseFileFlags(given: ReadonlySet<string>, format: string): void {
  const flag = ["output", "overwrite", ...(format === "otlp" ? [] : ["format"])].find((name) => given.has(name));
  if (flag === undefined) return;
  throw new UserError(
    "flags_contradict",
    `--${flag} is for a file, and --otlp and --otlp-endpoint send the traces to a server.`,
    "Do one after the other.",
  );
}
