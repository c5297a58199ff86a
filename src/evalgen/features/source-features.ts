import { plainSubject } from "../../domain/mail/plain-subject.js";
import type { ReturnedMail } from "../../domain/runs/returned-mails.js";
import { DOES_NOT_APPLY, type Feature, listOf, shareOf } from "./feature.js";

export const sourcesRead: Feature = {
  meaning: "sources of the answer that were opened (share)",
  of({ sources, opened }) {
    const read = idsOf(opened);
    return shareOf(sources, (id) => read.has(id));
  },
};

export const sourcesReturned: Feature = {
  meaning: "sources of the answer that some tool returned (share)",
  of({ sources, opened, listed }) {
    const returned = idsOf([...opened, ...listed]);
    return shareOf(sources, (id) => returned.has(id));
  },
};

export const sourceCount: Feature = {
  meaning: "sources that the answer names",
  of({ sources, answer, abstained, isSuite }) {
    return isSuite || abstained || answer.trim() === "" ? DOES_NOT_APPLY : { value: sources.length };
  },
};

export const newerInThread: Feature = {
  meaning: "mails with the subject of a source that a tool returned and that are newer than every source",
  of({ sources, opened, listed }) {
    const cited = new Set(sources);
    const mails = [...opened, ...listed].flatMap((mail) => datedOf(mail) ?? []);
    const sourceMails = mails.filter(({ id }) => cited.has(id));
    if (sourceMails.length === 0) return DOES_NOT_APPLY;
    const newest =
      sourceMails
        .map(({ date }) => date)
        .toSorted()
        .at(-1) ?? "";
    const subjects = new Set(sourceMails.map(({ subject }) => subject));
    const newer = new Set(
      mails.filter(({ subject, date }) => subjects.has(subject) && date > newest).map(({ id }) => id),
    );
    return { value: newer.size, detail: listOf([...newer]) };
  },
};

export const mailsListedBeforeAbstaining: Feature = {
  meaning: "mails that searches returned before the agent said it does not know",
  of({ abstained, listed }) {
    if (!abstained) return DOES_NOT_APPLY;
    const ids = [...idsOf(listed)];
    return { value: ids.length, detail: listOf(ids) };
  },
};

function idsOf(mails: readonly ReturnedMail[]): Set<string> {
  return new Set(mails.map(({ message_id }) => message_id));
}

interface DatedMail {
  readonly id: string;
  /** Without Re:, Fw: and the like, in small letters. */
  readonly subject: string;
  readonly date: string;
}

/** Null where the tool gave no subject or date, as ART's search does. */
function datedOf({ message_id: id, subject, date }: ReturnedMail): DatedMail | null {
  if (typeof subject !== "string" || typeof date !== "string") return null;
  const plain = plainSubject(subject).toLowerCase();
  return plain === "" ? null : { id, subject: plain, date };
}
