import { answerRequest, readCheckerAnswer } from "../../../questions/checks/answer-protocol.js";
import type { Checker } from "../../../questions/checks/checker.js";
import { protocolVersion } from "../../../scoring/judge/ask-judge.js";
import { createJudge, JUDGE_TIMEOUT_MS } from "../../score/create-judge.js";
import type { AppContext } from "../../use-case-context.js";
import type { ModelSpending } from "./model-spending.js";
import type { QuestionModel } from "./open-question-model.js";

/** A checker that asks a model; whether two answers agree is asked by the judge's protocol. */
export async function openChecker(
  { model, throttle, baseUrl }: QuestionModel,
  spending: ModelSpending,
  { settings, note }: AppContext,
): Promise<Checker> {
  const { judge } = await createJudge(
    { model: model.id, baseUrl, protocol: "verdict", version: protocolVersion("verdict"), votes: 1 },
    settings,
    { timeoutMs: JUDGE_TIMEOUT_MS, throttle, note, costLimit: spending.limit },
  );
  return {
    id: model.id,
    async answer(question, mails, signal) {
      return readCheckerAnswer(await model.complete(answerRequest(question, mails), signal));
    },
    async agree(pair, signal) {
      const { verdict, cast } = await judge.judge(pair, signal);
      signal.throwIfAborted();
      spending.cachedReplies += cast.filter(({ cached }) => cached).length;
      return verdict === null ? null : verdict === "correct";
    },
  };
}
