import type { Question } from "../../domain/tasks/question.js";
import type { AddressBook } from "../../store/search/address-book.js";
import { endOfDay } from "../../store/search/date-range.js";
import type { MailQuery } from "../../store/search/mail-search.js";

/** The question itself as the query, as an agent would send it on the day it is asked. */
export function questionQuery(
  question: Pick<Question, "question" | "inbox_address" | "query_date">,
  addresses: AddressBook,
): MailQuery {
  const askedAt = endOfDay(question.query_date);
  return {
    words: question.question,
    inboxId: addresses.idOf(question.inbox_address),
    fromIds: null,
    toIds: null,
    period: { after: null, before: askedAt },
    limit: 10,
    askedAt,
  };
}
