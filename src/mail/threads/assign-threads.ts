/**
 * The rule that groups emails into threads. An email continues at most one earlier email:
 *
 * 1. the one that its In-Reply-To or References name, otherwise an earlier one that names the same Message-ID;
 * 2. otherwise the newest one with the same subject within the time window, if a prefix such as "Re:" says that it
 *    continues one, and a sender of the two is a participant of the other, or it repeats the other's text;
 * 3. otherwise one with the same subject whose text it repeats, as a quotation or as a second copy.
 *
 * A thread therefore depends only on earlier mail: no later email can join two threads or change an earlier one's.
 */
import { openTexts } from "./repeated-text.js";
import { subjectKey } from "./subject-key.js";

export interface ThreadedMail {
  readonly id: number;
  readonly subject: string;
  readonly sender: string;
  /** JSON array of addresses. */
  readonly recipients: string;
  /** ISO 8601 in UTC, or null if unknown. */
  readonly date: string | null;
}

export interface ThreadSources {
  /** Message-IDs that emails refer to, the closest first, by email id. */
  readonly references: ReadonlyMap<number, readonly string[]>;
  /** Email ids by Message-ID. Only referenced Message-IDs are needed. */
  readonly mailIds: ReadonlyMap<string, number>;
  /** Returns the beginning of an email's body. */
  body(mailId: number): string;
}

/** Days between two emails of a thread that are only related by their subject. */
const WINDOW_DAYS = 30;

/** Maximum number of earlier emails whose texts are compared with an email's. */
const MAX_COMPARED = 5;

const NONE = -1;

interface SubjectGroup {
  readonly key: string;
  /** Indexes of the emails, oldest first. */
  readonly members: number[];
  /** The members whose subject has the prefix of a reply or forward. */
  readonly continued: Set<number>;
}

/**
 * Returns the index of the first email of each email's thread.
 * @param mails in the order of their dates, undated ones last
 */
export function assignThreads(mails: readonly ThreadedMail[], sources: ThreadSources): Int32Array {
  const parents = new Int32Array(mails.length).fill(NONE);
  linkReferences(mails, sources, parents);
  linkSubjects(mails, sources, parents);
  // Parents come before their children.
  const firsts = new Int32Array(mails.length);
  parents.forEach((parent, i) => {
    firsts[i] = parent === NONE ? i : (firsts[parent] as number);
  });
  return firsts;
}

function linkReferences(mails: readonly ThreadedMail[], sources: ThreadSources, parents: Int32Array): void {
  const { references, mailIds } = sources;
  if (references.size === 0) return;
  const idsOf = new Map<number, string[]>();
  for (const [messageId, mailId] of mailIds) idsOf.set(mailId, [...(idsOf.get(mailId) ?? []), messageId]);
  /** The newest email so far with a Message-ID, or that names it. */
  const owners = new Map<string, number>();
  const citing = new Map<string, number>();
  mails.forEach(({ id }, i) => {
    const own = idsOf.get(id) ?? [];
    const cited = references.get(id) ?? [];
    const known = (seen: ReadonlyMap<string, number>, ids: readonly string[]) =>
      seen.get(ids.find((each) => seen.has(each)) ?? "") ?? NONE;
    let parent = known(owners, cited);
    if (parent === NONE) parent = known(citing, cited);
    // A reply can be dated before its original, because clocks differ.
    if (parent === NONE) parent = known(citing, own);
    parents[i] = parent;
    for (const each of own) if (!owners.has(each)) owners.set(each, i);
    for (const each of cited) citing.set(each, i);
  });
}

function linkSubjects(mails: readonly ThreadedMail[], sources: ThreadSources, parents: Int32Array): void {
  const groups = new Map<string, SubjectGroup>();
  mails.forEach(({ subject }, i) => {
    const { key, isContinued } = subjectKey(subject);
    let group = groups.get(key);
    if (group === undefined) {
      group = { key, members: [], continued: new Set() };
      groups.set(key, group);
    }
    group.members.push(i);
    if (isContinued) group.continued.add(i);
  });
  for (const group of groups.values()) if (group.members.length > 1) linkGroup(group, mails, sources, parents);
}

/** Links the emails with one subject. The time is linear, because each address leads to at most one earlier email. */
function linkGroup(
  { key, members, continued }: SubjectGroup,
  mails: readonly ThreadedMail[],
  sources: ThreadSources,
  parents: Int32Array,
): void {
  /** The newest email so far from each address, and with it as sender or recipient. */
  const newestFrom = new Map<string, number>();
  const newestWith = new Map<string, number>();
  const texts = openTexts((i) => sources.body((mails[i] as ThreadedMail).id));
  members.forEach((i, at) => {
    const { sender, recipients, date } = mails[i] as ThreadedMail;
    const addresses = JSON.parse(recipients) as string[];
    if (parents[i] === NONE) {
      const isNear = (other: number | undefined): other is number =>
        other !== undefined && isWithinWindow((mails[other] as ThreadedMail).date, date);
      const related = [newestWith.get(sender), ...addresses.map((address) => newestFrom.get(address))].filter(isNear);
      if (continued.has(i) && key !== "" && related.length > 0) {
        parents[i] = related.reduce((a, b) => Math.max(a, b));
      } else {
        const recent = continued.has(i) ? members.slice(Math.max(0, at - MAX_COMPARED), at).filter(isNear) : [];
        const compared = [...new Set([...related, ...recent])].sort((a, b) => b - a).slice(0, MAX_COMPARED);
        parents[i] = compared.find((other) => texts.repeats(i, other)) ?? NONE;
      }
    }
    for (const address of [sender, ...addresses]) if (address !== "") newestWith.set(address, i);
    if (sender !== "") newestFrom.set(sender, i);
  });
}

function isWithinWindow(earlier: string | null, later: string | null): boolean {
  if (earlier === null || later === null) return true;
  return Date.parse(later) - Date.parse(earlier) <= WINDOW_DAYS * 86_400_000;
}
