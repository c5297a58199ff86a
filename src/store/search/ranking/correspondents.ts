import { STOP_WORDS } from "../../../domain/mail/stop-words.js";
import type { SignalMail, SignalQuery, SignalStrength } from "./ranking-signal.js";

/** "did I ask", "I gave": the mailbox's owner wrote the mail. */
const OWNER_WROTE =
  /\b(?:did|do|have|had|was|am|can|could|should|would|might|will) i\b|\bi (?:\w+ed|gave|told|sent|wrote|said|put|left|took|made|paid|bought|sold|chose|did|have|had|am|was)\b|\bi['’](?:d|ve|m)\b/i;

/** "did Christian say", "from Ann Lee": the sender's name follows. It is not consumed: "to tell Ann". */
const BEFORE_SENDER = /\b(?:did|does|has|had|from|by)\s+(?=(\p{L}+)(?:\s+(\p{L}+))?)/giu;

/** "tell Marshall", "sent to Ann Lee": a recipient's name follows. */
const BEFORE_RECIPIENT =
  /\b(?:tell|told|give|giving|gave|ask|asked|send|sent|offer|owe|to)\s+(?=(\p{L}+)(?:\s+(\p{L}+))?)/giu;

/** A name's shortest part that is looked for in addresses: shorter ones are in too many. */
const MIN_NAME = 3;

/** At the end of a part of an address (`bcherry`) it must be longer. */
const MIN_NAME_AT_END = 4;

/** So many names are looked for in the addresses of each mail. */
const MAX_NAMES = 10;

/** A mail of those whom the query makes its sender or recipients. The strength is the share of these that it meets. */
export function detectCorrespondents({ words, owner }: SignalQuery): SignalStrength | null {
  const clues: ((mail: SignalMail) => boolean)[] = [];
  if (owner !== null && OWNER_WROTE.test(words)) clues.push(({ sender }) => sender === owner);
  const senders = namesAfter(BEFORE_SENDER, words);
  if (senders.length > 0) clues.push(({ sender }) => senders.some((name) => isNameIn(sender, name)));
  const recipients = namesAfter(BEFORE_RECIPIENT, words);
  if (recipients.length > 0) {
    clues.push((mail) => mail.recipients.some((address) => recipients.some((name) => isNameIn(address, name))));
  }
  if (clues.length === 0) return null;
  return (mail) => clues.filter((isMet) => isMet(mail)).length / clues.length;
}

/** Words that may be names, in lower case; an ordinary word is in nobody's address. */
function namesAfter(pattern: RegExp, words: string): string[] {
  const names = [...words.matchAll(pattern)].flatMap(([, first, last]) => {
    const pair = [first, last].map((word) => word?.toLowerCase() ?? "");
    const end = pair.findIndex((word) => word.length < MIN_NAME || STOP_WORDS.has(word));
    return end === -1 ? pair : pair.slice(0, end);
  });
  return [...new Set(names)].slice(0, MAX_NAMES);
}

/** Whether an address is of somebody with this name: `drew_a_brabb@` of Drew and Brabb, `bcherry@` of Cherry. */
function isNameIn(address: string, name: string): boolean {
  const end = address.lastIndexOf("@");
  const parts = address.slice(0, end === -1 ? address.length : end).split(/[^\p{L}]+/u);
  return parts.some((part) => part.startsWith(name) || (name.length >= MIN_NAME_AT_END && part.endsWith(name)));
}
