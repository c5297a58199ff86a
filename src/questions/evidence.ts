import type { MailLookup, StoredMail } from "../mail/mail-lookup.js";
import { splitPassages, stemsOf } from "../models/answer-passage.js";
import { type Estimate, NO_ESTIMATE } from "../statistics/estimate.js";
import { wilson } from "../statistics/intervals.js";
import type { Question } from "../tasks/question.js";
import {
  type Passage,
  QUESTION_CHECKS,
  type QuestionCheck,
  type QuestionProvenance,
  type ReviewDecision,
} from "./provenance.js";

/**
 * A line of JSON, an object, with other texts for some of its members; everything else stays byte for byte. Of a
 * member that stands there twice the last is replaced, which is the one that counts.
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

/** Strings, brackets and separators: between them stands nothing that is needed here. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/** The values that are strings, of the outermost object. */
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
  /** How often all checks of a question passed and it was accepted as it stood, or one failed and it was not. */
  readonly all: Estimate;
  /** The same of each check alone, over the questions that had it. */
  readonly byCheck: readonly { readonly check: QuestionCheck["check"]; readonly agreement: Estimate }[];
}

/** How often a person and the checks say the same. A question that was edited was not right as it stood. */
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
        const found = one.checks.find(({ check }) => check === name);
        return found === undefined ? [] : [isSame(one.decision, found.passed)];
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
  /** Null: it is not in the database. */
  readonly mail: StoredMail | null;
  /** False: the question does not cite it, as it came later than the question. */
  readonly isCited: boolean;
  /** What of it answers. */
  readonly inSubject: readonly TextSpan[];
  readonly inBody: readonly TextSpan[];
  /** recorded: when the question was made; found: by the words of the answer; null: none is known. */
  readonly passage: "recorded" | "found" | null;
}

/** The mails that a question cites, and those of its recorded passages, each once. */
export function evidenceOf(
  question: Question,
  provenance: QuestionProvenance | undefined,
  mails: MailLookup,
): readonly EvidenceMail[] {
  const cited = question.message_ids;
  const passages = provenance?.passages ?? [];
  const seen = new Set<string>();
  return [...cited, ...passages.map((passage) => passage.message_id)].flatMap((messageId, i): EvidenceMail[] => {
    const canonical = mails.canonicalId(messageId);
    if (seen.has(canonical)) return [];
    seen.add(canonical);
    const mail = mails.get(messageId);
    const isCited = i < cited.length;
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
  const found = locatePassage(body, mostLikelyPassage(body, question) ?? "");
  return { inSubject: [], inBody: found === null ? [] : [found], passage: found === null ? null : ("found" as const) };
}

/** A word of the answer tells more of where it stands than one of the question. */
const ANSWER_WEIGHT = 3;

/** The passage of a mail that most likely gives the answer, by the words of both; null: none holds any. */
export function mostLikelyPassage(
  body: string,
  { question, answer }: { question: string; answer: string },
): string | null {
  const [ofAnswer, ofQuestion] = [stemsOf(answer), stemsOf(question)];
  let best: { passage: string; score: number } | null = null;
  for (const passage of splitPassages(body)) {
    const stems = stemsOf(passage);
    const shared = (words: ReadonlySet<string>) => [...words].filter((word) => stems.has(word)).length;
    const score = ANSWER_WEIGHT * shared(ofAnswer) + shared(ofQuestion);
    if (score > (best?.score ?? 0)) best = { passage, score };
  }
  return best?.passage ?? null;
}

/** UTF-16 units of a text, the end exclusive. */
interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** Below, a passage stands in any text by chance. Characters. */
const MIN_PASSAGE = 4;

/**
 * Where a passage stands in a text, word for word but for case, white space and the marks of quotations; null: nowhere.
 */
export function locatePassage(text: string, passage: string): TextSpan | null {
  const wanted = withoutSpace(passage);
  if (wanted.text.length < MIN_PASSAGE) return null;
  const dense = withoutSpace(text);
  const at = dense.text.indexOf(wanted.text);
  if (at === -1) return null;
  const start = dense.positions[at] ?? 0;
  return { start, end: (dense.positions[at + wanted.text.length - 1] ?? start) + 1 };
}

/** A text in lower case without what may differ, and the position of each unit that is left. */
function withoutSpace(text: string): { readonly text: string; readonly positions: readonly number[] } {
  const positions: number[] = [];
  let dense = "";
  for (let i = 0; i < text.length; i++) {
    const unit = text.charAt(i);
    if (/[>\s]/.test(unit)) continue;
    const lower = unit.toLowerCase();
    // A few letters become two in lower case, which would move all positions after them.
    dense += lower.length === 1 ? lower : unit;
    positions.push(i);
  }
  return { text: dense, positions };
}
