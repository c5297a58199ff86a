import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { below, normal, seeded, zipf } from "../test/random.js";

export interface CorpusShape {
  readonly mails: number;
  readonly seed: number;
}

const VOCABULARY = 60_000;
const OWNERS = 150;

/** The largest of 150 owners has 30 times the mail of the smallest: 30,000 and 1,000 of 500,000. */
function weightOf(i: number): number {
  return 1 + 29 * ((OWNERS - i) / OWNERS) ** 11.4;
}

const OUTSIDERS = 20_000;
const FOLDERS = ["inbox", "all_documents", "discussion_threads", "deleted_items", "notes_inbox", "deals"];
const SENT = ["sent", "_sent_mail", "sent_items"];

/**
 * Writes a corpus in Kaggle's format that is the same for the same seed: a Zipf vocabulary, log-normal bodies, 150
 * owners, and copies across folders and mailboxes with their own Message-IDs, so that about 52% of the emails are
 * distinct, as in the Enron mail.
 */
export async function writeKaggleCsv(path: string, { mails, seed }: CorpusShape): Promise<void> {
  const random = seeded(seed);
  const words = vocabulary(random);
  const word = zipf(random, VOCABULARY, 1.05, 2.7);
  const owners = people(random, OWNERS).map((name, i) => ({
    folder: `${name.last}-${name.first[0]}`,
    address: `${name.first}.${name.last}@enron.example`,
    weight: weightOf(i),
  }));
  const outsiders = people(random, OUTSIDERS).map(({ first, last }, i) => `${first}.${last}${i}@out.example`);
  const ownerAt = weighted(
    random,
    owners.map((owner) => owner.weight),
  );
  const outsiderAt = zipf(random, OUTSIDERS, 1, 5);

  const file = createWriteStream(path, { highWaterMark: 1 << 22 });
  file.write('"file","message"\n');
  const counters = new Map<string, number>();
  let written = 0;
  let id = 10_000_000;
  const text = (count: number): string => {
    let out = "";
    for (let i = 0; i < count; i++) {
      out += words[word()] ?? "";
      out += i % 13 === 12 ? ".\n" : i % 7 === 6 ? ", " : " ";
    }
    return out;
  };

  while (written < mails) {
    const owner = owners[ownerAt()] ?? owners[0];
    if (owner === undefined) break;
    const isSent = random() < 0.25;
    const other = () => (random() < 0.4 ? (owners[ownerAt()]?.address ?? "") : (outsiders[outsiderAt()] ?? ""));
    const from = isSent ? owner.address : other();
    const recipients = Array.from({ length: 1 + Math.floor(random() ** 4 * 12) }, other);
    if (!isSent) recipients[0] = owner.address;
    const date = new Date(Date.UTC(1999, 0, 1) + below(random, 4 * 365 * 86_400) * 1000);
    const body = text(Math.max(5, Math.min(20_000, Math.round(Math.exp(5.0 + 1.1 * normal(random))))));
    const cc = recipients.length > 4 ? recipients.splice(3) : [];
    const header = (folder: string) =>
      `Message-ID: <${id++}.${1_000_000_000_000 + written}.JavaMail.bench@thyme>\r\nDate: ${mailDate(date)}\r\nFrom: ${from}\r\n` +
      `To: ${recipients.join(", ")}\r\nSubject: ${subject}\r\n${cc.length > 0 ? `Cc: ${cc.join(", \r\n\t")}\r\n` : ""}Mime-Version: 1.0\r\n` +
      "Content-Type: text/plain; charset=us-ascii\r\nContent-Transfer-Encoding: 7bit\r\n" +
      `X-From: ${displayed(from)}\r\nX-To: ${recipients.map(displayed).join(", ")}\r\nX-cc: ${cc.map(displayed).join(", ")}\r\nX-bcc: \r\nX-Folder: \\${folder}\r\nX-Origin: ${owner.folder}\r\nX-FileName: bench.nsf\r\n`;
    const subject = `${random() < 0.4 ? "RE: " : ""}${text(2 + below(random, 6))
      .replace(/[\n.,]/g, " ")
      .trim()}`;
    // One to five filings: in the owner's other folders, and in the mailboxes of the owners among the recipients.
    const copies = 1 + (random() < 0.55 ? 1 + below(random, 3) : 0);
    for (let copy = 0; copy < copies && written < mails; copy++) {
      const holder = copy > 1 ? (owners[ownerAt()] ?? owner) : owner;
      const folders = isSent && copy === 0 ? SENT : FOLDERS;
      const folder = folders[below(random, folders.length)] ?? "inbox";
      const place = `${holder.folder}/${folder}`;
      const number = (counters.get(place) ?? 0) + 1;
      counters.set(place, number);
      const message = `${header(folder)}\r\n${body.replaceAll("\n", "\r\n")}`;
      const row = `"${place}/${number}.","${message.replaceAll('"', '""')}"\n`;
      written++;
      if (!file.write(row)) await once(file, "drain");
    }
  }
  file.end();
  await once(file, "close");
}

/** An address as exported by Exchange. Half of the external people have only an address. */
function displayed(address: string): string {
  const [, first = "", last = "", digits = ""] = /^([a-z]+)\.([a-z]+)(\d*)@/.exec(address) ?? [];
  if (digits === "") return `${last}, ${first} </O=ENRON/OU=NA/CN=RECIPIENTS/CN=${first.slice(0, 1)}${last}>`;
  return Number(digits) % 2 === 0 ? address : `"${first} ${last}" <${address}>`;
}

function weighted(random: () => number, weights: readonly number[]): () => number {
  const sums: number[] = [];
  let total = 0;
  for (const weight of weights) {
    total += weight;
    sums.push(total);
  }
  return () => {
    const at = random() * total;
    const found = sums.findIndex((sum) => at < sum);
    return found === -1 ? sums.length - 1 : found;
  };
}

const SYLLABLES =
  "ba be bi bo bu da de di do du ga ge go ka ke ki ko la le li lo lu ma me mi mo na ne ni no nu pa pe po ra re ri ro ru sa se si so ta te ti to tu va ve vi za ing er ed est ly tion al ness".split(
    " ",
  );

/** Words of two to five syllables. The most common ones are the shortest, and some are numbers. */
function vocabulary(random: () => number): string[] {
  const seen = new Set<string>();
  for (let rank = 0; seen.size < VOCABULARY; rank++) {
    const length = seen.size < 200 ? 1 + below(random, 2) : 2 + below(random, 4);
    const word =
      rank % 23 === 22
        ? String(below(random, 100_000))
        : Array.from({ length }, () => SYLLABLES[below(random, SYLLABLES.length)]).join("");
    seen.add(word);
  }
  return [...seen];
}

function people(random: () => number, count: number): { first: string; last: string }[] {
  const name = () => Array.from({ length: 2 + below(random, 2) }, () => SYLLABLES[below(random, 50)]).join("");
  const taken = new Set<string>();
  return Array.from({ length: count }, () => {
    let last = name();
    while (taken.has(last)) last += "n";
    taken.add(last);
    return { first: name(), last };
  });
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function mailDate(date: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const time = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
  return `${DAYS[date.getUTCDay()]}, ${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()} ${time} +0000 (UTC)`;
}
