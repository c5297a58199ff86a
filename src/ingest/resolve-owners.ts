import type { Db } from "../store/connection/open-store.js";
import {
  type AddressCount,
  countRecipients,
  countSentFolderSenders,
  listOwners,
  type Owner,
  type OwnerBasis,
  setOwnerAddress,
} from "../store/import/owners.js";

/** Minimum share of the sent mail for an address that matches the owner's name. */
const MIN_NAMED_SHARE = 0.02;

/**
 * Finds the address of every owner folder: by the map file; else the sender in its sent folders that matches the
 * folder's name (an assistant may send more), else the recipient that matches it, else the most frequent sender, else
 * the most frequent recipient. Returns whether an address changed.
 */
export function resolveOwners(db: Db, map: ReadonlyMap<string, string>): boolean {
  const open = listOwners(db).filter((owner) => owner.basis !== "source" || map.has(owner.folder));
  const senders = countSentFolderSenders(db);
  const nameless = open.filter((owner) => !map.has(owner.folder) && namedSender(owner, senders) === null);
  const recipients = countRecipients(
    db,
    nameless.map((owner) => owner.id),
  );
  let changed = false;
  for (const owner of open) {
    const [address, basis] = resolve(owner, map, senders, recipients);
    if (address === owner.address && basis === owner.basis) continue;
    // An address from an earlier map file stays unless a newer map changes it.
    if (owner.basis === "map" && basis !== "map") continue;
    setOwnerAddress(db, owner.id, address, basis);
    changed = true;
  }
  return changed;
}

type Counts = ReadonlyMap<number, readonly AddressCount[]>;

function resolve(
  owner: Owner,
  map: ReadonlyMap<string, string>,
  senders: Counts,
  recipients: Counts,
): [string | null, OwnerBasis | null] {
  const mapped = map.get(owner.folder);
  if (mapped !== undefined) return [mapped, "map"];
  const named = namedSender(owner, senders);
  if (named !== null) return [named, "sent"];
  const received = recipients.get(owner.id) ?? [];
  const addressed = received.find((count) => matchesOwnerName(count.address, owner.folder));
  if (addressed !== undefined) return [addressed.address, "received"];
  const sender = senders.get(owner.id)?.[0];
  if (sender !== undefined) return [sender.address, "sent"];
  const recipient = received[0];
  return recipient === undefined ? [null, null] : [recipient.address, "received"];
}

function namedSender(owner: Owner, senders: Counts): string | null {
  const sent = senders.get(owner.id) ?? [];
  const total = sent.reduce((sum, count) => sum + count.mails, 0);
  const named = sent.filter(
    (count) => count.mails >= total * MIN_NAMED_SHARE && matchesOwnerName(count.address, owner.folder),
  );
  return named[0]?.address ?? null;
}

/**
 * `crandell-s` and sean.crandall@: the last name, give or take its ending (people's folders are often
 * misspelt), and an initial where the address has a first name.
 */
function matchesOwnerName(address: string, folder: string): boolean {
  const [last = "", initial = ""] = folder.toLowerCase().split("-");
  const parts = (address.split("@")[0] ?? "").split(/[^a-z']+/).filter((part) => part !== "");
  const stem = last.length > 5 ? last.slice(0, -2) : last;
  const surname = parts.findIndex((part) => (last.length > 5 ? part.startsWith(stem) : part === stem));
  if (surname < 0) return false;
  const others = parts.filter((_, i) => i !== surname);
  return others.length === 0 || initial === "" || others.some((part) => part.startsWith(initial));
}
