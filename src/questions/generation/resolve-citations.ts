import type { Email } from "../../domain/mail/email.js";
import { bareMessageId } from "../../domain/mail/message-id.js";
import type { WrittenQuestion } from "./draft-protocol.js";
import type { QuestionDraft } from "./question-draft.js";

/** A model that shows less of a mail than this as its passage shows nothing. */
const MIN_PASSAGE_CHARS = 4;

/**
 * Turns what a model wrote into a draft. Refused, with the reason, where it cites a mail that it was not shown, or
 * quotes what the mail does not say, or asks for a change without the mail that came before it.
 */
export function resolveCitations(
  written: WrittenQuestion,
  inbox: string,
  shown: readonly Email[],
): { readonly draft: QuestionDraft } | { readonly refused: string } {
  const byId = new Map(shown.map((mail) => [bareMessageId(mail.messageId), mail]));
  const cited = [...new Set(written.message_ids.map(bareMessageId))].map((id) => byId.get(id));
  const known = cited.flatMap((mail) =>
    mail === undefined || mail.date === null ? [] : [{ ...mail, date: mail.date }],
  );
  if (known.length < cited.length) return { refused: "it cites a mail that was not shown" };
  if (written.detail_absent && known.length > 0) return { refused: "it cites a mail for a detail that no mail holds" };
  if (!written.detail_absent && known.length === 0) return { refused: "it cites no mail" };
  if (written.kind === "change" && new Set(known.map(({ date }) => date)).size === 1) {
    return { refused: "it asks for a change and cites one mail" };
  }
  const passages = written.detail_absent
    ? []
    : written.passages.flatMap(({ message_id, text }) => {
        const mail = known.find((one) => bareMessageId(one.messageId) === bareMessageId(message_id));
        return mail !== undefined && holds(mail, text) ? [{ message_id: mail.messageId, text }] : [];
      });
  if (!written.detail_absent && (passages.length === 0 || passages.length < written.passages.length)) {
    return { refused: "it quotes what the mail does not say" };
  }
  return {
    draft: {
      kind: written.kind,
      question: written.question,
      answer: written.detail_absent ? "I don't know" : written.answer,
      sources: known.map(({ messageId, date }) => ({ messageId, date })),
      passages,
      howRealistic: written.how_realistic,
      inbox,
      sender: (known[0] ?? shown[0])?.sender ?? inbox,
      // A question without a source belongs after the mails it is about.
      askableFrom: newest(known.length > 0 ? known : shown),
      askedTooEarly: written.question,
      unanswerable: written.detail_absent ? "detail_absent" : null,
    },
  };
}

function newest(mails: readonly Pick<Email, "date">[]): string {
  return mails.reduce((last, { date }) => (date !== null && date > last ? date : last), "");
}

function holds({ subject, body }: Email, passage: string): boolean {
  const plain = (text: string) =>
    text
      .replace(/[>\s]+/g, " ")
      .trim()
      .toLowerCase();
  const wanted = plain(passage);
  return wanted.length >= MIN_PASSAGE_CHARS && plain(`${subject} ${body}`).includes(wanted);
}
