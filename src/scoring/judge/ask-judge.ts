import { z } from "zod";
import { type Model, NO_USAGE, type PriceOf, type Usage } from "../../domain/models/model.js";
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
import { isDontKnow } from "../../domain/tasks/abstention.js";
import { isUnanswerable } from "../abstention.js";
import { artProtocol } from "./art-protocol.js";
import { majority } from "./majority.js";
import type { JudgeProtocol } from "./protocol.js";
import { verdictProtocol } from "./verdict-protocol.js";

const PROTOCOLS: Readonly<Record<JudgeSettings["protocol"], JudgeProtocol>> = {
  verdict: verdictProtocol,
  art: artProtocol,
};

/** A vote that could be read, and the model that the reply names. */
type Remembered = { readonly verdict: Verdict; readonly reason: string; readonly model?: string };

/** What a vote may be remembered by; it is handed everything that decides the vote. */
export interface VoteMemory {
  get(key: readonly (string | number | null)[]): unknown;
  put(key: readonly (string | number | null)[], value: Remembered): Promise<void>;
}

export interface JudgeRequest {
  readonly model: Model;
  readonly settings: JudgeSettings;
  readonly memory: VoteMemory;
  /** US dollars; null where the price is not known. */
  readonly priceOf: PriceOf;
}

interface Asked {
  readonly vote: Vote;
  /** Null: the server did not say, or failed before it could. */
  readonly usage: Usage | null;
  /** Null: not known. */
  readonly costUsd: number | null;
}

const rememberedSchema = z.object({
  verdict: z.enum(VERDICTS),
  reason: z.string(),
  model: z.string().exactOptional(),
});

/** The version of a protocol that this program speaks. */
export function protocolVersion(protocol: JudgeSettings["protocol"]): number {
  return PROTOCOLS[protocol].version;
}

/**
 * A judge that asks a model. Answers that say only "I don't know", and none at all, are judged without asking. A call that fails, and a reply that cannot be read, leave a
 * vote without a verdict; neither is remembered.
 */
export function openJudge({ model, settings, memory, priceOf }: JudgeRequest): Judge {
  const protocol = PROTOCOLS[settings.protocol];
  const current = { ...settings, version: protocol.version };

  const ask = async (item: JudgeCase, number: number, signal: AbortSignal): Promise<Asked> => {
    const { baseUrl } = settings;
    const key = [model.id, baseUrl, protocol.name, protocol.version, item.question, item.gold, item.answer, number];
    const remembered = rememberedSchema.safeParse(memory.get(key)).data;
    if (remembered !== undefined) return { vote: { ...remembered, cached: true }, ...FREE };
    try {
      const reply = await model.complete(protocol.request(item), signal);
      // Each call by itself: what is dearer for a long prompt is not so for many short ones.
      const { usage, model: named } = reply;
      const paid = { usage, costUsd: usage === null ? null : priceOf(usage, named) };
      const read = protocol.read(reply);
      const by = named === undefined ? {} : { model: named };
      if (read === null) return { vote: { ...unread("the judge's reply could not be read"), ...by }, ...paid };
      await memory.put(key, { ...read, ...by });
      return { vote: { ...read, ...by, cached: false }, ...paid };
    } catch (error) {
      // It has cost nothing that anybody could tell.
      const why = signal.aborted
        ? "stopped before the judge had answered"
        : `the judge failed: ${(error as Error).message}`;
      return { vote: unread(why), ...FREE };
    }
  };

  return {
    settings: current,
    async judge({ question, gold, answer }, signal) {
      const known = withoutAsking(gold, answer);
      if (answer === null || known !== null) {
        return { ...current, ...(known ?? NOTHING), agreement: null, cast: [], usage: NO_USAGE, costUsd: 0 };
      }
      const asked = await Promise.all(
        Array.from({ length: settings.votes }, (_, i) => ask({ question, gold, answer }, i + 1, signal)),
      );
      const cast = asked.map(({ vote }) => vote);
      const judgement: Judgement = {
        ...current,
        ...majority(cast),
        cast,
        usage: sumUsage(asked),
        costUsd: sumCost(asked),
      };
      // Models are asked to say so themselves; one that calls it an abstention means the same.
      const isRight = judgement.verdict === "abstained" && isUnanswerable({ answer: gold, message_ids: [] });
      return isRight ? { ...judgement, verdict: "correct" } : judgement;
    },
  };
}

const FREE = { usage: NO_USAGE, costUsd: 0 };

const NOTHING = { verdict: "abstained", reason: "no answer was given" } as const;

function withoutAsking(gold: string, answer: string | null): { verdict: Verdict; reason: string } | null {
  if (answer === null || answer.trim() === "") return NOTHING;
  if (!isDontKnow(answer)) return null;
  return isDontKnow(gold)
    ? { verdict: "correct", reason: "the question cannot be answered, and the answer says so" }
    : { verdict: "abstained", reason: "the answer says that it is not known" };
}

function unread(reason: string): Vote {
  return { verdict: null, reason, cached: false };
}
