import type { Completion, ModelRequest } from "../../domain/models/model.js";
import type { JudgeCase, JudgeSettings, Verdict } from "../../domain/scores/judgement.js";

/** One way to ask a judge and to read what it says. */
export interface JudgeProtocol {
  readonly name: JudgeSettings["protocol"];
  /** To be raised with every change of its wording: verdicts are kept by it. */
  readonly version: number;
  request(item: JudgeCase): ModelRequest;
  /** Null where the reply is none of the protocol's: nobody guesses what a judge meant. */
  read(reply: Pick<Completion, "content" | "toolCalls">): { readonly verdict: Verdict; readonly reason: string } | null;
}

/** Room for a model that thinks before it speaks; the verdict itself is short. */
export const JUDGE_MAX_TOKENS = 4_096;
