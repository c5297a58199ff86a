import { type SendRequest, sendTraces } from "../app/results/send-traces.js";
import { EXIT, type ExitCode } from "../domain/errors.js";
import type { ScoreApi } from "../otlp/score-apis.js";
import { count } from "../reports/text/format-number.js";
import type { CommandContext } from "./cli/command.js";

interface SendFlags extends Pick<SendRequest, "run" | "selection"> {
  readonly otlpEndpoint?: string | undefined;
  readonly scores?: ScoreApi | undefined;
  readonly noContent: boolean;
}

/** Sends traces and says what became of them. Spans that the server rejected make it a failure. */
export async function printSentTraces(flags: SendFlags, context: CommandContext): Promise<ExitCode> {
  const { run, selection, otlpEndpoint: endpoint, scores, noContent } = flags;
  const sent = await sendTraces({ run, selection, endpoint, scores, content: !noContent }, context);
  const { settings, out } = context;
  if (settings.json) out.result(sent, () => "");
  const withScores = scores === undefined ? "" : ` and ${count(sent.scores)} scores`;
  const spans = `${count(sent.delivered)} spans${withScores}`;
  out.note(`${count(sent.traces)} traces of ${sent.runId} sent to ${sent.host}: ${spans}.`);
  if (sent.shortened > 0) out.note(`${count(sent.shortened)} spans lack their largest texts: a request holds 4 MB.`);
  if (sent.rejected > 0) out.note(`The server rejected ${count(sent.rejected)} spans.`);
  for (const message of sent.messages) out.note(`The server says: ${message}`);
  return sent.rejected > 0 ? EXIT.failed : EXIT.done;
}
