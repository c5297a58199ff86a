import { z } from "zod";
import { addUsage, NO_USAGE, type Usage } from "../../domain/models/model.js";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { WITHOUT_ANSWER } from "../playground/playground-events.js";

/** What the responses of both OpenAI APIs have in common. */

/** The field `art_e`, which is not part of OpenAI's APIs. */
export const agentDetailsShape = z.strictObject({
  trace_id: z.string(),
  ending: z.string(),
  sources: z.array(z.string()),
});

export function agentDetails({ traceId, ending, sources }: ChatTrace): z.output<typeof agentDetailsShape> {
  return { trace_id: traceId, ending, sources };
}

/** The text of the answer, or the model's refusal to give one. */
export interface AnswerText {
  readonly text: string;
  readonly isRefusal: boolean;
}

export function answerText({ answer, ending, turns }: ChatTrace): AnswerText {
  if (turns.at(-1)?.finishReason === "refusal") {
    return { text: answer || "The model refused to answer.", isRefusal: true };
  }
  const fallback = ending in WITHOUT_ANSWER ? WITHOUT_ANSWER[ending as keyof typeof WITHOUT_ANSWER] : "";
  return { text: answer ?? fallback, isRefusal: false };
}

/** Whether the agent gave an answer, rather than used up its turns or budget. */
export function isComplete({ ending }: ChatTrace): boolean {
  return ending === "answered" || ending === "dont_know";
}

/** The sum over all turns; a turn fallback usage counts as zero. */
export function totalUsage({ turns }: ChatTrace): Usage {
  return turns.reduce((sum, { usage }) => addUsage(sum, usage ?? NO_USAGE), NO_USAGE);
}
