// The reviewer's view of a question: the cited emails with their answering passages, and the agreement with the checks.
import type { MailLookup, StoredMail } from "../../mail/mail-lookup.js";
import { type Estimate, NO_ESTIMATE } from "../../statistics/estimate.js";
import { wilson } from "../../statistics/intervals.js";
import type { Question } from "../../tasks/question.js";
import { locateAnswer, locatePassage, type TextSpan } from "../../text/passages.js";
import {
  type Passage,
  QUESTION_CHECKS,
  type QuestionCheck,
  type QuestionProvenance,
  type ReviewDecision,
} from "../provenance.js";

/**
 * Replaces the strings of some properties in a line with a JSON object. Everything else stays byte for byte the same.
 * If a property occurs twice, replaces the last one, because parsers use that one.
 */
export function replaceJsonTexts(line: string, texts: Readonly<Record<string, string>>): string {
  const replaced = [...topLevelValues(line)]
    .filter(({ key }) => Object.hasOwn(texts, key))
    .reduce((last, value) => last.set(value.key, value), new Map<string, MemberValue>());
  let result = line;
  for (const { key, start, end } of [...replaced.values()].sort((a, b) => b.start - a.start)) {
    result = result.slice(0, start) + JSON.stringify(texts[key]) + result.slice(end);
  }
  return result;
}

interface MemberValue {
  readonly key: string;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/** Strings, brackets and separators, the only tokens that matter here. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/** Yields the string values of the outermost object. */
function* topLevelValues(line: string): Generator<MemberValue> {
  let depth = 0;
  let previous = "";
  let key = "";
  for (const { 0: token, index } of line.matchAll(TOKEN)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (depth === 1 && token.startsWith('"')) {
      if (previous === ":") yield { key, start: index, end: index + token.length };
      else key = String(JSON.parse(token));
    }
    previous = token;
  }
}

interface ReviewedChecks {
  readonly decision: ReviewDecision;
  readonly checks: readonly Pick<QuestionCheck, "check" | "passed">[];
}

export interface CheckerAgreement {
  /**
   * How often reviewers agreed with the checks: they accepted a question unchanged if all its checks passed, and did
   * not if one failed.
   */
  readonly all: Estimate;
  /** The same rate per check, over the questions with that check. */
  readonly byCheck: readonly { readonly check: QuestionCheck["check"]; readonly agreement: Estimate }[];
}

/** Returns how often reviewers and checks agree. An edited question counts as not accepted. */
export function checkerAgreement(reviewed: readonly ReviewedChecks[]): CheckerAgreement {
  const checked = reviewed.filter(({ checks }) => checks.length > 0);
  const isSame = (decision: ReviewDecision, passed: boolean) => passed === (decision === "accepted");
  return {
    all: rateOf(
      checked.map(({ decision, checks }) =>
        isSame(
          decision,
          checks.every(({ passed }) => passed),
        ),
      ),
    ),
    byCheck: QUESTION_CHECKS.flatMap((name) => {
      const same = checked.flatMap((one) => {
        const ruleCheck = one.checks.find(({ check }) => check === name);
        return ruleCheck === undefined ? [] : [isSame(one.decision, ruleCheck.passed)];
      });
      return same.length === 0 ? [] : [{ check: name, agreement: rateOf(same) }];
    }),
  };
}

function rateOf(same: readonly boolean[]): Estimate {
  const n = same.length;
  if (n === 0) return NO_ESTIMATE;
  const agreed = same.filter((one) => one).length;
  return { value: agreed / n, n, ...wilson(agreed, n), method: "wilson" };
}

export interface EvidenceMail {
  readonly messageId: string;
  /** The email, or null if the database does not contain it. */
  readonly mail: StoredMail | null;
  /** False if the question does not cite the email because it arrived after the query date. */
  readonly isCited: boolean;
  /** Position of the answering passage in the subject. */
  readonly inSubject: readonly TextSpan[];
  readonly inBody: readonly TextSpan[];
  /** `recorded` when the question was made, `found` by the words of the answer, or null if unknown. */
  readonly passage: "recorded" | "found" | null;
}

/** Returns the cited emails and the emails of the recorded passages, without duplicates. */
export function evidenceOf(
  question: Question,
  provenance: QuestionProvenance | undefined,
  mails: MailLookup,
): readonly EvidenceMail[] {
  const goldIds = question.message_ids;
  const passages = provenance?.passages ?? [];
  const seen = new Set<string>();
  return [...goldIds, ...passages.map((passage) => passage.message_id)].flatMap((messageId, i): EvidenceMail[] => {
    const canonical = mails.canonicalId(messageId);
    if (seen.has(canonical)) return [];
    seen.add(canonical);
    const mail = mails.get(messageId);
    const isCited = i < goldIds.length;
    if (mail === null) return [{ messageId, mail, isCited, inSubject: [], inBody: [], passage: null }];
    const recorded = passages.filter((one) => mails.canonicalId(one.message_id) === canonical);
    return [{ messageId, mail, isCited, ...litIn(mail, recorded, question) }];
  });
}

function litIn({ subject, body }: StoredMail, recorded: readonly Passage[], question: Question) {
  const spansIn = (text: string) => recorded.flatMap((passage) => locatePassage(text, passage.text) ?? []);
  const inBody = spansIn(body);
  const inSubject = inBody.length > 0 ? [] : spansIn(subject);
  if (inBody.length + inSubject.length > 0) return { inSubject, inBody, passage: "recorded" as const };
  const location = locateAnswer(body, question);
  return {
    inSubject: [],
    inBody: location === null ? [] : [location],
    passage: location === null ? null : ("found" as const),
  };
}
