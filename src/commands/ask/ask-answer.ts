import type { CitedMail } from "../../app/chat/cited-mails.js";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { sumCost, sumUsage } from "../../domain/runs/cost.js";
import type { Ending } from "../../domain/tasks/task-ending.js";
import { stripControls } from "../../platform/strip-controls.js";
import { duration, usd } from "../../reports/text/format-number.js";

export function answerJson(trace: ChatTrace, cited: readonly CitedMail[]) {
  return {
    answer: trace.answer,
    ending: trace.ending,
    error: trace.error,
    sources: cited.map(({ messageId, mail }) => ({
      messageId,
      ...(mail ?? { subject: null, sender: null, date: null }),
    })),
    inbox: trace.inbox,
    queryDate: trace.queryDate,
    agentId: trace.agentId,
    model: trace.model,
    turns: trace.turns.length,
    usage: sumUsage(trace.turns),
    costUsd: sumCost(trace.turns),
    durationMs: Math.round(trace.durationMs),
    traceId: trace.traceId,
  };
}

const WITHOUT: Readonly<Partial<Record<Ending, string>>> = {
  out_of_turns: "its turns are used up",
  tool_protocol_error: "it could not make a usable tool call",
  timeout: "its time is over",
  model_error: "its model failed",
};

export function answerText(trace: ChatTrace, cited: readonly CitedMail[]): string {
  const costUsd = sumCost(trace.turns);
  const without = `No answer: ${trace.error ?? WITHOUT[trace.ending] ?? trace.ending}.`;
  const turns = `${trace.turns.length} ${trace.turns.length === 1 ? "turn" : "turns"}`;
  const cost = costUsd === null ? "of unknown price" : usd(costUsd);
  return stripControls(
    [
      trace.answer ?? without,
      "",
      ...cited.map(sourceLine),
      ...(cited.length === 0 ? [] : [""]),
      `${trace.agentId} (${trace.model}): ${turns}, ${duration(trace.durationMs)}, ${cost}. All that was said and read: art-e show ${trace.traceId}`,
    ].join("\n"),
  );
}

function sourceLine({ messageId, mail }: CitedMail): string {
  if (mail === null) return `Source: ${messageId} (there is no such mail in the mailbox)`;
  return `Source: ${mail.subject || "(no subject)"}, ${mail.date?.slice(0, 10) ?? "no date"}, from ${mail.sender}\n        ${messageId}`;
}
