import type { Question } from "../../../domain/tasks/question.js";
import type { QuestionProvenance } from "../../../domain/tasks/question-provenance.js";
import { locatePassage, type TextSpan } from "../../../questions/review/locate-passage.js";
import { mostLikelyPassage } from "../../../questions/review/most-likely-passage.js";
import type { MailLookup, StoredMail } from "../../../store/search/mail-lookup.js";

/** A mail beside a question. */
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
    return [
      {
        messageId,
        mail,
        isCited,
        ...litIn(
          mail,
          recorded.map(({ text }) => text),
          question,
        ),
      },
    ];
  });
}

function litIn({ subject, body }: StoredMail, recorded: readonly string[], question: Question) {
  const spansIn = (text: string) => recorded.flatMap((passage) => locatePassage(text, passage) ?? []);
  const inBody = spansIn(body);
  const inSubject = inBody.length > 0 ? [] : spansIn(subject);
  if (inBody.length + inSubject.length > 0) return { inSubject, inBody, passage: "recorded" as const };
  const found = locatePassage(body, mostLikelyPassage(body, question) ?? "");
  return { inSubject: [], inBody: found === null ? [] : [found], passage: found === null ? null : ("found" as const) };
}
