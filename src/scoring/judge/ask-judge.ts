import { z } from "zod";
import { type Model, NO_USAGE, type Usage } from "../../domain/models/model.js";
import { sumCost, sumUsage } from "../../domain/runs/cost.js";
import {
  type Judge,
  type JudgeCase,
  type Judgement,
  type JudgeSettings,
  VERDICTS,
  type Verdict,
  type Vote,
} from "../../domain/scores/judgement.js";
import { isDontKnow } from "../../domain/tasks/detect-abstention.js";
import { CostLimitReached } from "../../models/middleware/limit-cost.js";
import { isUnanswerable } from "../abstention.js";
import { artProtocol } from "./art-judge-prompt.js";
import type { JudgeProtocol } from "./judge-protocol.js";
import { majority } from "./majority.js";
import { verdictProtocol } from "./verdict-judge-prompt.js";

const PROTOCOLS: Readonly<Record<JudgeSettings["protocol"], JudgeProtocol>> = {
  verdict: verdictProtocol,
  art: artProtocol,
};

/** A readable vote, and the model named in the reply. */
type CachedVote = { readonly verdict: Verdict; readonly reason: string; readonly model?: string };

/** Cache of votes; the key holds everything that decides a vote. */
export interface VoteCache {
  get(key: readonly (string | number | null)[]): unknown;
  put(key: readonly (string | number | null)[], value: CachedVote): Promise<void>;
}

export interface JudgeRequest {
  readonly model: Model;
  readonly settings: JudgeSettings;
  readonly cache: VoteCache;
}

interface PaidVote {
  readonly vote: Vote;
  /** Null if the server did not report it. */
  readonly usage: Usage | null;
  /** Null if unknown. */
  readonly costUsd: number | null;
}

const cachedVoteSchema = z.object({
  verdict: z.enum(VERDICTS),
  reason: z.string(),
  model: z.string().exactOptional(),
});

/** The version of a protocol in this program. */
export function protocolVersion(protocol: JudgeSettings["protocol"]): number {
  return PROTOCOLS[protocol].version;
}

/**
 * A judge that asks a model. Missing answers and plain "I don't know" are judged without a call. A failed call or an
 * unreadable reply gives a vote without a verdict, which is not cached. Throws at a limit of cost.
 */
export function openJudge({ model, settings, cache: memory }: JudgeRequest): Judge {
  const protocol = PROTOCOLS[settings.protocol];
  const current = { ...settings, version: protocol.version };

  const ask = async (item: JudgeCase, number: number, signal: AbortSignal): Promise<PaidVote> => {
    const { baseUrl } = settings;
    const key = [model.id, baseUrl, protocol.name, protocol.version, item.question, item.gold, item.answer, number];
    const cached = cachedVoteSchema.safeParse(memory.get(key)).data;
    if (cached !== undefined) return { vote: { ...cached, cached: true }, ...FREE };
    try {
      const reply = await model.complete(protocol.request(item), signal);
      const { usage, costUsd = null, model: replyModel } = reply;
      const paid = { usage, costUsd };
      const verdict = protocol.read(reply);
      const answeredBy = replyModel === undefined ? {} : { model: replyModel };
      if (verdict === null)
        return { vote: { ...voteWithoutVerdict("the judge's reply could not be read"), ...answeredBy }, ...paid };
      await memory.put(key, { ...verdict, ...answeredBy });
      return { vote: { ...verdict, ...answeredBy, cached: false }, ...paid };
    } catch (error) {
      if (error instanceof CostLimitReached) throw error;
      // A failed call reports no usage, so its cost counts as 0.
      const reason = signal.aborted
        ? "stopped before the judge had answered"
        : `the judge failed: ${(error as Error).message}`;
      return { vote: voteWithoutVerdict(reason), ...FREE };
    }
  };

  return {
    settings: current,
    async judge({ question, gold, answer }, signal) {
      const free = judgeWithoutModel(gold, answer);
      if (answer === null || free !== null) {
        return { ...current, ...(free ?? NO_ANSWER), agreement: null, cast: [], usage: NO_USAGE, costUsd: 0 };
      }
      const votes = await Promise.all(
        Array.from({ length: settings.votes }, (_, i) => ask({ question, gold, answer }, i + 1, signal)),
      );
      const cast = votes.map(({ vote }) => vote);
      const judgement: Judgement = {
        ...current,
        ...majority(cast),
        cast,
        usage: sumUsage(votes),
        costUsd: sumCost(votes),
      };
      // The prompt asks for `correct` here; a model that answers `abstained` means the same.
      const isRight = judgement.verdict === "abstained" && isUnanswerable({ answer: gold, message_ids: [] });
      return isRight ? { ...judgement, verdict: "correct" } : judgement;
    },
  };
}

const FREE = { usage: NO_USAGE, costUsd: 0 };

const NO_ANSWER = { verdict: "abstained", reason: "no answer was given" } as const;

function judgeWithoutModel(gold: string, answer: string | null): { verdict: Verdict; reason: string } | null {
  if (answer === null || answer.trim() === "") return NO_ANSWER;
  if (!isDontKnow(answer)) return null;
  return isDontKnow(gold)
    ? { verdict: "correct", reason: "the question cannot be answered, and the answer says so" }
    : { verdict: "abstained", reason: "the answer says that it is not known" };
}

function voteWithoutVerdict(reason: string): Vote {
  return { verdict: null, reason, cached: false };
}
