import type { Completion, ModelRequest } from "../../domain/models/model.js";
import type { JudgeCase, JudgeSettings, Verdict } from "../../domain/scores/judgement.js";

/** How a judge is prompted and how its reply is parsed. */
export interface JudgeProtocol {
  readonly name: JudgeSettings["protocol"];
  /** Increase it with every change of the wording: verdicts are cached by it. */
  readonly version: number;
  request(item: JudgeCase): ModelRequest;
  /** Null for a reply that does not follow the protocol: verdicts are never guessed. */
  read(reply: Pick<Completion, "content" | "toolCalls">): { readonly verdict: Verdict; readonly reason: string } | null;
}

/** Leaves room for reasoning; the verdict itself is short. */
export const JUDGE_MAX_TOKENS = 4_096;
