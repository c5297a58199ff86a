// Subjects without the prefixes of replies and forwards: what all emails of a thread share.

/** Prefixes of replies and forwards, as mail programs write them in their languages. */
const REPLY =
  "re|aw|antw(?:ort)?|sv|vs|vá|rif|rép|res|ref|odp|atb|ynt|απ|σχετ|отв|השב|תגובה|رد|回复|回覆|答复|答覆|返信|회신|답장";
const FORWARD =
  "fwd?|wg|weiterl|doorst|vl|vb|rv|tr|enc|pd|ilt|továbbítás|πρθ|пересл|הועבר|إعادة توجيه|转发|轉寄|轉發|転送|전달";
const PREFIXES = `${REPLY}|${FORWARD}`;

/** One prefix, with a count such as `Re[2]:`, `Re (2):` or `Re^2:`, or the tag of a mailing list before a prefix. */
const PREFIX = new RegExp(
  String.raw`^\s*(?:\[[^\]]{1,60}\]\s*(?=(?:${PREFIXES})\s?[:：]))?(?:${REPLY}|(?<forward>${FORWARD}))(?:\s?\[\d{1,3}\]|\s?\(\d{1,3}\)|\^\d{1,3})?\s?[:：]\s*`,
  "iu",
);

/** The mark of old mail programs at the end of a forwarded email's subject. */
const FORWARD_MARK = /\s*\((?:fwd|forward)\)$/i;

/** Longer subjects are compared by their beginning. */
const MAX_CHARS = 500;

/** Removes all prefixes and marks of replies and forwards from a subject. */
export function plainSubject(subject: string): string {
  let rest = subject;
  for (;;) {
    const prefix = PREFIX.exec(rest);
    const mark = FORWARD_MARK.exec(rest);
    if (prefix === null && mark === null) return rest.trim();
    rest = rest.slice(prefix?.[0].length ?? 0, mark?.index);
  }
}

export interface SubjectKey {
  /** Equal for all emails of a thread. Empty if nothing but prefixes is in the subject. */
  readonly key: string;
  /** Whether a prefix or a mark says that the email answers or forwards another one. */
  readonly isContinued: boolean;
}

export function subjectKey(subject: string): SubjectKey {
  const begin = subject.slice(0, MAX_CHARS).trim();
  const plain = plainSubject(begin);
  return { key: plain.replace(/\s+/g, " ").toLowerCase(), isContinued: plain !== begin };
}

/** Whether the outermost prefix of a subject, or the mark at its end, is that of a forward. */
export function isForward(subject: string): boolean {
  const prefix = PREFIX.exec(subject);
  return prefix === null ? FORWARD_MARK.test(subject) : prefix.groups?.forward !== undefined;
}
