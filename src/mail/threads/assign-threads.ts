/**
 * The rule that groups emails into threads. An email continues at most one earlier email:
 *
 * 1. the one that its In-Reply-To or References name, otherwise an earlier one that names the same Message-ID;
 * 2. otherwise one with the same subject and a common address within the time window. Of several, the one with most
 *    common addresses.
 *
 * Prefixes such as "Re:" are optional, because Lotus Notes forwards without one. But without a prefix, an address that
 * repeats its own subject much later starts a new thread, because it is a series such as a daily report. Emails without
 * a subject need a prefix and two common addresses.
 *
 * A thread therefore depends only on earlier mail: no later email can join two threads or change an earlier one's.
 */
import { subjectKey } from "../subject.js";

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
}

/** Hours between two emails of a thread that are only related by their subject. */
const WINDOW_HOURS = 90 * 24;

/** Hours within which an address continues its own email under the same subject without a prefix. */
const OWN_WINDOW_HOURS = 12;

/** Maximum number of earlier emails whose addresses are compared with an email's. */
const MAX_COMPARED = 5;

const NONE = -1;

interface SubjectMail {
  readonly index: number;
  readonly addresses: ReadonlySet<string>;
  readonly sender: string;
  /** Milliseconds since 1970, or NaN if unknown. */
  readonly sentAt: number;
  /** Whether the subject has the prefix of a reply or forward. */
  readonly isContinued: boolean;
}

/**
 * Returns the index of the first email of each email's thread.
 * @param mails in the order of their dates, undated ones last
 */
export function assignThreads(mails: readonly ThreadedMail[], sources: ThreadSources): Int32Array {
  const parents = new Int32Array(mails.length).fill(NONE);
  linkReferences(mails, sources, parents);
  linkSubjects(mails, parents);
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

function linkSubjects(mails: readonly ThreadedMail[], parents: Int32Array): void {
  const groups = new Map<string, number[]>();
  const continued = new Uint8Array(mails.length);
  mails.forEach(({ subject }, i) => {
    const { key, isContinued } = subjectKey(subject);
    continued[i] = isContinued ? 1 : 0;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [i]);
    else group.push(i);
  });
  for (const [key, group] of groups) {
    if (group.length === 1) continue;
    linkGroup(
      group.map((index) => {
        const { sender, recipients, date } = mails[index] as ThreadedMail;
        const addresses = new Set<string>(JSON.parse(recipients)).add(sender);
        addresses.delete("");
        const sentAt = date === null ? Number.NaN : Date.parse(date);
        return { index, addresses, sender, sentAt, isContinued: continued[index] === 1 };
      }),
      key === "" ? 2 : 1,
      parents,
    );
  }
}

/** Links the emails with one subject. The time is linear, because each address leads to at most one earlier email. */
function linkGroup(group: readonly SubjectMail[], commonAddresses: number, parents: Int32Array): void {
  const newestWith = new Map<string, SubjectMail>();
  for (const mail of group) {
    if (parents[mail.index] === NONE && (mail.isContinued || commonAddresses === 1)) {
      const earlier = new Set<SubjectMail>();
      for (const address of mail.addresses) {
        const other = newestWith.get(address);
        if (other !== undefined && continues(mail, other)) earlier.add(other);
      }
      const newest = [...earlier].sort((a, b) => b.index - a.index).slice(0, MAX_COMPARED);
      let most = commonAddresses - 1;
      for (const other of newest) {
        const common = [...mail.addresses].filter((address) => other.addresses.has(address)).length;
        if (common <= most) continue;
        most = common;
        parents[mail.index] = other.index;
      }
    }
    for (const address of mail.addresses) newestWith.set(address, mail);
  }
}

/** Whether the time allows an email to continue an earlier one. It does if a date is unknown. */
function continues(mail: SubjectMail, earlier: SubjectMail): boolean {
  const isOwn = mail.sender === earlier.sender && !mail.isContinued;
  return !(mail.sentAt - earlier.sentAt > 3_600_000 * (isOwn ? OWN_WINDOW_HOURS : WINDOW_HOURS));
}
