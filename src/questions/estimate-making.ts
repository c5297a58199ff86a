// Estimates the calls and the cost of making questions without calling a model.
import { type ModelRequest, promptChars } from "../models/model.js";
import { parseModelName } from "../models/model-names.js";
import { priceOf } from "../models/price-lookup.js";
import { rulesFor } from "../models/request-parameters.js";
import { addUsage, NO_USAGE, type Usage } from "../models/usage.js";
import type { AppContext } from "../platform/app-context.js";
import { verdictProtocol } from "../scoring/judge.js";
import { sumOrNull } from "../statistics/sum-or-null.js";
import { withStore } from "../store/open-store.js";
import { answerRequest } from "./check-questions/check-by-model.js";
import { OTHER_MATCHES } from "./check-questions.js";
import { draftRequest, QUESTIONS_PER_BATCH } from "./make-questions/draft-by-model.js";
import { type AddressedBatch, batchesFor, batchesInTurn, PASSING_SHARE } from "./make-questions/draft-questions.js";
import { chooseInboxes, type MailCounts, questionMailboxes, readMailboxes } from "./make-questions/usable-mail.js";
import { checkQuestionOutputs } from "./make-questions.js";
import { type MakeOptions, PATTERNS_MODEL } from "./question-models.js";

export interface EstimatedCalls {
  readonly model: string;
  readonly calls: number;
  readonly usage: Usage;
  /** US dollars, or null if the price is unknown. */
  readonly costUsd: number | null;
}

export interface MakingEstimate {
  readonly model: string;
  readonly questions: number;
  readonly mailboxes: number;
  readonly mails: MailCounts;
  /** Number of 20-email batches, or null if no model writes. */
  readonly batches: { readonly needed: number; readonly available: number } | null;
  /** Expected number of questions from these batches, or null if no model writes. */
  readonly expected: number | null;
  readonly writer: EstimatedCalls | null;
  readonly checker: EstimatedCalls | null;
  /** US dollars, or null if a price is unknown. */
  readonly costUsd: number | null;
}

/** Assumed for emails in English and for JSON. */
const CHARS_PER_TOKEN = 4;

/** Assumed output tokens per reply, and additional tokens for models that reason. Both are guesses. */
const WRITTEN_TOKENS = { reply: 900, reasoning: 2_000 };
const CHECKED_TOKENS = { reply: 100, reasoning: 400 };

/** Texts that are about as long as those that models write. */
const SAMPLE = {
  question: "On which day does Virginia want to have the comments on the draft of the agreement?",
  answer: "By Friday, July 13, 2001",
  query_date: "2001-07-20",
};

/**
 * Estimates the calls and the cost of `questions make` without a model call. It builds the actual prompts and assumes
 * that half of the drafts pass and that each is checked in full. Cached replies are not subtracted.
 */
export function estimateMaking(options: MakeOptions, { settings }: AppContext): Promise<MakingEstimate> {
  checkQuestionOutputs(options, settings);
  return withStore(settings, (db) => {
    const inboxes = chooseInboxes(db, options.inbox);
    const read = readMailboxes(inboxes.map(questionMailboxes(db)), options.minChars);
    const available = batchesInTurn(read.mailboxes);
    const batches = available.slice(0, batchesFor(options.number));
    const { writer: writerId, checker: checkerId } = modelsOf(options);
    const drafts = writerId === null ? options.number : batches.length * QUESTIONS_PER_BATCH;
    const requests = batches.map(({ address, read }) => draftRequest(address, read(), 0));
    const writer = writerId === null ? null : estimateCalls(writerId, WRITTEN_TOKENS, requests);
    const checker =
      checkerId === null ? null : estimateCalls(checkerId, CHECKED_TOKENS, checkRequests(batches, drafts));
    const costs = [writer, checker].flatMap((one) => (one === null ? [] : [one.costUsd]));
    return {
      model: options.model,
      questions: options.number,
      mailboxes: inboxes.length,
      mails: read.mails,
      batches: writer === null ? null : { needed: batches.length, available: available.length },
      expected: writer === null ? null : Math.min(options.number, Math.floor(drafts * PASSING_SHARE)),
      writer,
      checker,
      costUsd: sumOrNull(costs),
    };
  });
}

/** Returns the model ids. Null means patterns for the writer and rules for the checker. */
function modelsOf({ model, checker, baseUrl, checkerBaseUrl }: MakeOptions) {
  const idOf = (name: string, server: string | undefined) => parseModelName(name, null, server !== undefined).id;
  const writer = model === PATTERNS_MODEL ? null : idOf(model, baseUrl);
  if (checker === undefined) return { writer, checker: writer };
  return { writer, checker: checker === "off" ? null : idOf(checker, checkerBaseUrl) };
}

/**
 * Returns the checker's requests per draft: for answers from its email, from no email and from other emails, and for a
 * verdict.
 */
function checkRequests(batches: readonly AddressedBatch[], drafts: number): ModelRequest[] {
  if (batches.length === 0) return [];
  return Array.from({ length: drafts }, (_, i) => batches[i % batches.length] as AddressedBatch).flatMap((batch) => {
    const question = { question: SAMPLE.question, inbox_address: batch.address, query_date: SAMPLE.query_date };
    const mails = batch.read();
    const mailsPerCall = [mails.slice(0, 1), [], mails.slice(0, OTHER_MATCHES)];
    const verdict = verdictProtocol.request({ question: SAMPLE.question, gold: SAMPLE.answer, answer: SAMPLE.answer });
    return [...mailsPerCall.map((mails) => answerRequest(question, mails)), verdict];
  });
}

/** Computes the cost for each call separately, as the provider does on its bill. */
function estimateCalls(
  model: string,
  tokens: { readonly reply: number; readonly reasoning: number },
  requests: readonly ModelRequest[],
): EstimatedCalls {
  const reasons = rulesFor(parseModelName(model, null), "chat")?.reasons ?? false;
  const outputTokens = tokens.reply + (reasons ? tokens.reasoning : 0);
  const usages = requests.map((request) => {
    return { ...NO_USAGE, inputTokens: Math.ceil(promptChars(request) / CHARS_PER_TOKEN), outputTokens };
  });
  const costs = usages.map((usage) => priceOf(model, usage));
  return {
    model,
    calls: requests.length,
    usage: usages.reduce(addUsage, NO_USAGE),
    costUsd: sumOrNull(costs),
  };
}
