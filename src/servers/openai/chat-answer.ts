import { z } from "zod";
import { addUsage, NO_USAGE, type Usage } from "../../domain/models/model.js";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { WITHOUT_ANSWER } from "../playground/playground-events.js";

/** What both of OpenAI's APIs are told of a chat that has ended. */

/** What the agent found besides its answer. */
export const foundShape = z.strictObject({
  trace_id: z.string(),
  ending: z.string(),
  sources: z.array(z.string()),
});

export function foundIn({ traceId, ending, sources }: ChatTrace): z.output<typeof foundShape> {
  return { trace_id: traceId, ending, sources };
}

/** The text of the answer, or the model's refusal to give one. */
export interface SaidAnswer {
  readonly text: string;
  readonly isRefusal: boolean;
}

export function saidAnswer({ answer, ending, turns }: ChatTrace): SaidAnswer {
  if (turns.at(-1)?.finishReason === "refusal") {
    return { text: answer || "The model refused to answer.", isRefusal: true };
  }
  const without = ending in WITHOUT_ANSWER ? WITHOUT_ANSWER[ending as keyof typeof WITHOUT_ANSWER] : "";
  return { text: answer ?? without, isRefusal: false };
}

/** Whether the agent came to an end of its own, and not to that of its turns. */
export function isWhole({ ending }: ChatTrace): boolean {
  return ending === "answered" || ending === "dont_know";
}

/** Of all turns; those whose server did not say count nothing. */
export function usageOf({ turns }: ChatTrace): Usage {
  return turns.reduce((sum, { usage }) => addUsage(sum, usage ?? NO_USAGE), NO_USAGE);
}
