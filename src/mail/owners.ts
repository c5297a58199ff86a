// Finds the address of each folder owner in the mail itself, and how sure it is.
import { reasonOf, UserError } from "../platform/errors.js";
import { readNamedText } from "../platform/files.js";
import type { Db } from "../store/open-store.js";

type AddressCounts = ReadonlyMap<number, readonly AddressCount[]>;

/**
 * Evidence for an owner's address: the owner map, the source itself, the Delivered-To of its mail, the sender of its
 * sent mail, an address that both sends and receives, or the most frequent recipient.
 */
export type OwnerBasis = "map" | "source" | "delivered" | "sent" | "both" | "received";

export interface Owner {
  readonly id: number;
  /** The owner's identity: the place of the account, or only the name if the source names its owners. */
  readonly place: string;
  /** The name shown: the shortest end of the place that no other owner has. */
  readonly folder: string;
  readonly address: string | null;
  readonly basis: OwnerBasis | null;
}

export interface AddressCount {
  readonly address: string;
  readonly mails: number;
}

interface OwnerCount extends AddressCount {
  ownerId: number;
}

/** Minimum fraction of the sent mail (0 to 1) required of an address that matches the owner's name. */
const MIN_NAMED_SHARE = 0.02;

/** Names of folders that mail programs and servers use for every account. */
const STRUCTURAL = /^(?:mail|imapmail|takeout|maildir|\.maildir|v\d+|)$/i;

/** Returns the folders of a place that tell accounts apart. */
export function nameParts(place: string): string[] {
  const folders = place.split("/");
  const parts = folders.filter((folder) => !STRUCTURAL.test(folder));
  return parts.length > 0 ? parts : folders;
}

/** Names every owner with the shortest end of its place that is unique. Returns whether a name changed. */
export function nameOwners(db: Db): boolean {
  const owners = listOwners(db);
  const ends = new Map(owners.map(({ id, place }) => [id, endsOf(place)]));
  const counts = new Map<string, number>();
  for (const end of [...ends.values()].flat()) counts.set(end, (counts.get(end) ?? 0) + 1);
  const rename = db.prepare("UPDATE owners SET folder = ? WHERE id = ?");
  let changed = false;
  for (const { id, place, folder } of owners) {
    const own = ends.get(id) as string[];
    // A name that the source gives, such as `crandell-s`, stays, even if another place ends with it.
    const name = own.length === 1 ? place : (own.find((end) => counts.get(end) === 1) ?? place);
    if (name === folder) continue;
    rename.run(name, id);
    changed = true;
  }
  return changed;
}

/** Returns the ends of a place, shortest first. */
function endsOf(place: string): string[] {
  const parts = nameParts(place);
  return parts.map((_, i) => parts.slice(-1 - i).join("/"));
}

/**
 * Finds the address of every owner folder, in this order: the address in the map file; the address that most emails
 * were delivered to; the sender in the sent folders that matches the folder's name (an assistant might send more); the
 * recipient that matches it; the most frequent sender; the most frequent address that both sends and receives; the most
 * frequent recipient. Delivery and correspondence count if they name the address in at least a quarter as many emails
 * as the most frequent recipient. Returns whether an address changed.
 */
export function resolveOwners(db: Db, map: ReadonlyMap<string, string>): boolean {
  const owners = listOwners(db);
  const mapped = mappedAddresses(owners, map);
  // The place of an owner named by the source is the address.
  const open = owners.filter((owner) => owner.place !== owner.address || mapped.has(owner.id));
  const delivered = countDeliveries(db);
  const senders = countSentFolderSenders(db);
  const nameless = open.filter(
    (owner) => !mapped.has(owner.id) && (delivered.has(owner.id) || namedSender(owner, senders) === null),
  );
  const recipients = countRecipients(
    db,
    nameless.map((owner) => owner.id),
  );
  const correspondents = countCorrespondents(
    db,
    nameless.filter((owner) => !senders.has(owner.id)).map((owner) => owner.id),
  );
  let changed = false;
  for (const owner of open) {
    const [address, basis] = resolve(owner, mapped.get(owner.id), { delivered, senders, recipients, correspondents });
    if (address === owner.address && basis === owner.basis) continue;
    // Keep an address from an earlier map file unless a newer map changes it.
    if (owner.basis === "map" && basis !== "map") continue;
    setOwnerAddress(db, owner.id, address, basis);
    changed = true;
  }
  return changed;
}

/**
 * Returns the addresses in a map by owner. An entry names an owner with any end of its place (`ann`,
 * `home/ann/Maildir`).
 * @throws UserError if an entry fits several owners
 */
function mappedAddresses(owners: readonly Owner[], map: ReadonlyMap<string, string>): Map<number, string> {
  const addresses = new Map<number, string>();
  for (const [name, address] of map) {
    const exact = owners.filter(({ folder }) => folder === name);
    const found = exact.length > 0 ? exact : owners.filter(({ place }) => hasEnd(place, name));
    if (found.length > 1) {
      throw new UserError(
        "owner_map_invalid",
        `The owner map's folder "${name}" could be ${found.map(({ folder }) => `"${folder}"`).join(" or ")}.`,
        "Write one of these names in the owner map.",
      );
    }
    for (const { id } of found) addresses.set(id, address);
  }
  return addresses;
}

function hasEnd(place: string, name: string): boolean {
  return `/${place}`.endsWith(`/${name}`) || endsOf(place).includes(name);
}

interface OwnerEvidence {
  readonly delivered: AddressCounts;
  readonly senders: AddressCounts;
  readonly recipients: AddressCounts;
  readonly correspondents: AddressCounts;
}

function resolve(
  owner: Owner,
  mapped: string | undefined,
  { delivered, senders, recipients, correspondents }: OwnerEvidence,
): [string | null, OwnerBasis | null] {
  if (mapped !== undefined) return [mapped, "map"];
  const received = recipients.get(owner.id) ?? [];
  const recipient = received[0];
  // A mailing list can be the most frequent recipient, but it neither sends nor has mail delivered to it. A few emails
  // from a colleague and back, or delivered elsewhere, say nothing.
  const isFrequent = ({ mails }: AddressCount) => mails >= (recipient?.mails ?? 0) / 4;
  const target = delivered.get(owner.id)?.[0];
  if (target !== undefined && isFrequent(target)) return [target.address, "delivered"];
  const ownAddress = namedSender(owner, senders);
  if (ownAddress !== null) return [ownAddress, "sent"];
  const addressed = received.find((count) => matchesOwnerName(count.address, owner.folder));
  if (addressed !== undefined) return [addressed.address, "received"];
  const sender = senders.get(owner.id)?.[0];
  if (sender !== undefined) return [sender.address, "sent"];
  const both = correspondents.get(owner.id)?.[0];
  if (both !== undefined && isFrequent(both)) return [both.address, "both"];
  return recipient === undefined ? [null, null] : [recipient.address, "received"];
}

function namedSender(owner: Owner, senders: AddressCounts): string | null {
  const counts = senders.get(owner.id) ?? [];
  const total = counts.reduce((sum, count) => sum + count.mails, 0);
  const matches = counts.filter(
    (count) => count.mails >= total * MIN_NAMED_SHARE && matchesOwnerName(count.address, owner.folder),
  );
  return matches[0]?.address ?? null;
}

/**
 * Returns whether an address matches an owner folder, such as sean.crandall@ and `crandell-s`. Compares the last name,
 * ignoring its ending (folder names are often misspelled), and the initial if the address contains a first name.
 */
function matchesOwnerName(address: string, folder: string): boolean {
  const [last = "", initial = ""] = folder
    .slice(folder.lastIndexOf("/") + 1)
    .toLowerCase()
    .split("-");
  const parts = (address.split("@")[0] ?? "").split(/[^a-z']+/).filter((part) => part !== "");
  const stem = last.length > 5 ? last.slice(0, -2) : last;
  const surname = parts.findIndex((part) => (last.length > 5 ? part.startsWith(stem) : part === stem));
  if (surname < 0) return false;
  const others = parts.filter((_, i) => i !== surname);
  return others.length === 0 || initial === "" || others.some((part) => part.startsWith(initial));
}

/**
 * Reads a TSV file of owner folders and addresses. Extra columns, and a header line without an address, are ignored.
 */
export function readOwnerMap(path: string): Map<string, string> {
  let text: string;
  try {
    text = readNamedText(path);
  } catch (cause) {
    throw new UserError(
      "owner_map_unreadable",
      `Cannot read the owner map ${path}: ${reasonOf(cause)}.`,
      "Check the path given to --owner-map.",
      2,
      { cause },
    );
  }
  const map = new Map<string, string>();
  text.split(/\r?\n/).forEach((line, i) => {
    if (line.trim() === "" || line.startsWith("#")) return;
    const [folder = "", address = ""] = line.split("\t").map((cell) => cell.trim());
    if (address.includes("@") && folder !== "") map.set(folder, address.toLowerCase());
    else if (i > 0) {
      throw new UserError(
        "owner_map_invalid",
        `${path}, line ${i + 1}: expected an owner folder, a tab and an address, found "${line.slice(0, 80)}".`,
        "Fix that line, for example: crandell-s<TAB>sean.crandall@enron.com",
      );
    }
  });
  return map;
}

export function listOwners(db: Db): Owner[] {
  return db.prepare("SELECT id, place, folder, address, basis FROM owners ORDER BY folder").all() as Owner[];
}

export function setOwnerAddress(db: Db, id: number, address: string | null, basis: OwnerBasis | null): void {
  db.prepare("UPDATE owners SET address = ?, basis = ? WHERE id = ?").run(address, basis, id);
}

/**
 * Counts the senders in each owner's sent folders (`sent`, `sent_items`, `_sent_mail`, `.Sent`, but not
 * `presentations`), most frequent first.
 */
export function countSentFolderSenders(db: Db): Map<number, AddressCount[]> {
  return group(
    db
      .prepare(
        `SELECT x.owner_id AS ownerId, m.sender AS address, count(*) AS mails
         FROM messages x JOIN mails m ON m.id = x.mail_id
         WHERE x.owner_id IS NOT NULL AND m.sender <> ''
           AND (lower(x.path) GLOB '*/sent*/*' OR lower(x.path) GLOB '*/*[^a-z]sent*/*')
         GROUP BY x.owner_id, m.sender ORDER BY mails DESC, address`,
      )
      .all() as OwnerCount[],
  );
}

/** Counts the mail of each owner per address that it was delivered to, most frequent first. */
function countDeliveries(db: Db): Map<number, AddressCount[]> {
  const rows = db.prepare("SELECT owner_id AS ownerId, address, mails FROM deliveries ORDER BY mails DESC, address");
  return group(rows.all() as OwnerCount[]);
}

/** Counts the recipients of the mail in each owner's folders, most frequent first. */
export function countRecipients(db: Db, ownerIds: readonly number[]): Map<number, AddressCount[]> {
  const statement = db.prepare(
    `SELECT f.owner_id AS ownerId, r.value AS address, count(*) AS mails
     FROM filings f JOIN mails m ON m.id = f.mail_id, json_each(m.recipients) r
     WHERE f.owner_id = ? GROUP BY r.value ORDER BY mails DESC, address LIMIT 200`,
  );
  return group(ownerIds.flatMap((id) => statement.all(id) as OwnerCount[]));
}

/** Counts the mail per address that both sends and receives mail in an owner's folders, most frequent first. */
function countCorrespondents(db: Db, ownerIds: readonly number[]): Map<number, AddressCount[]> {
  const statement = db.prepare(
    `WITH own AS (SELECT f.owner_id, m.sender, m.recipients FROM filings f JOIN mails m ON m.id = f.mail_id WHERE f.owner_id = ?),
       sent AS (SELECT owner_id, sender AS address, count(*) AS mails FROM own WHERE sender <> '' GROUP BY sender),
       received AS (SELECT r.value AS address, count(*) AS mails FROM own, json_each(own.recipients) r GROUP BY r.value)
     SELECT owner_id AS ownerId, address, received.mails FROM sent JOIN received USING (address)
     ORDER BY sent.mails + received.mails DESC, received.mails DESC, address LIMIT 1`,
  );
  return group(ownerIds.flatMap((id) => statement.all(id) as OwnerCount[]));
}

function group(rows: readonly OwnerCount[]): Map<number, AddressCount[]> {
  const counts = new Map<number, AddressCount[]>();
  for (const { ownerId, address, mails } of rows) {
    const list = counts.get(ownerId) ?? [];
    list.push({ address, mails });
    counts.set(ownerId, list);
  }
  return counts;
}
