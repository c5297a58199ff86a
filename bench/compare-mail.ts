/**
 * Compares the parser with Python's `email` (policy.default) over folders of emails, such as the test data of other
 * mail libraries: `npm run compare-mail -- FOLDER... [--field FIELD] [--examples 5]`. Prints the counts per field and
 * per class of difference. The collections are never part of this repository.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { z } from "zod";
import type { Email } from "../src/mail/email.js";
import { htmlToText } from "../src/mail/html-text.js";
import { parseEmail } from "../src/mail/mime/parse-email.js";
import { table } from "../src/text/format.js";

const FIELDS = ["messageId", "subject", "from", "to", "cc", "date", "body", "attachments"] as const;
type Field = (typeof FIELDS)[number];

const pythonMail = z.object({
  messageId: z.string(),
  subject: z.string(),
  from: z.array(z.string()),
  to: z.array(z.string()),
  cc: z.array(z.string()),
  date: z.string().nullable(),
  body: z.object({ type: z.string(), text: z.string() }).nullable(),
  attachments: z.array(z.string()),
  defects: z.array(z.string()),
});
type PythonMail = z.infer<typeof pythonMail>;
const pythonReply = z.object({ mail: pythonMail.nullable(), errors: z.array(z.string()) });

/** File names that collections use for their emails. */
const MAIL_NAME = /(?:\.(?:eml|msg|txt|mail|mime|email|elm|out|in)|:2,[A-Z]*|^[^.]+|^\d+\.)$/i;
const FIRST_LINE = /^(?:From |[!-9;-~]+[ \t]*:)/;
const IDENTIFYING = /^(?:From|To|Subject|Date|Message-ID|Received|MIME-Version)[ \t]*:/im;
const MAX_BYTES = 20_000_000;

function* mailsIn(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !MAIL_NAME.test(entry.name) || statSync(path).size > MAX_BYTES) continue;
    const raw = readFileSync(path).toString("latin1");
    const head = raw.slice(0, 20_000).split(/\n\s*\n/, 1)[0] ?? "";
    // Skips mailboxes.
    if (FIRST_LINE.test(head) && IDENTIFYING.test(head) && !/\n\nFrom \S+ .*\d{4}\n[\w-]+:/.test(raw)) yield path;
  }
}

function parseWithPython(paths: readonly string[]) {
  const script = fileURLToPath(new URL("python-email.py", import.meta.url));
  const { stdout, status, stderr } = spawnSync("python3", [script], {
    input: `${paths.join("\n")}\n`,
    encoding: "utf8",
    maxBuffer: 2 ** 30,
  });
  if (status !== 0) throw new Error(stderr);
  return stdout
    .trim()
    .split("\n")
    .map((line) => pythonReply.parse(JSON.parse(line)));
}

interface Compared {
  readonly path: string;
  readonly ours: Email;
  readonly theirs: PythonMail;
}

const collapsed = (text: string) =>
  text
    .normalize("NFC")
    .replace(/[\s\u00a0\u200b\u00ad\ufeff]+/g, " ")
    .trim();

const isSameList = (ours: readonly string[], theirs: readonly string[]) => {
  const set = (list: readonly string[]) =>
    [...new Set(list.map((one) => one.toLowerCase()).filter(Boolean))].sort().join("\n");
  return set(ours) === set(theirs);
};

const listedNames = (body: string) =>
  [...body.matchAll(/^- (.*) \([^()]*, [\d,]+ bytes?\)$/gm)].map(([, name]) => name ?? "");

/** Both results, or null if they agree. */
function differenceOf(field: Field, { ours, theirs }: Compared): [ours: string, theirs: string] | null {
  const differ = (one: unknown, other: unknown): [string, string] => [JSON.stringify(one), JSON.stringify(other)];
  switch (field) {
    case "messageId": {
      const [, id] = /<([^<>]*)>/.exec(theirs.messageId) ?? [];
      const plain = (id ?? theirs.messageId).replace(/\s+/g, "");
      const mine = ours.messageId.replace(/^<|>$/g, "");
      return mine === plain || (plain === "" && mine.endsWith("@missing")) ? null : differ(mine, plain);
    }
    case "subject":
      return collapsed(ours.subject) === collapsed(theirs.subject) ? null : differ(ours.subject, theirs.subject);
    case "from":
      return isSameList([ours.sender], theirs.from.slice(0, 1)) ? null : differ(ours.sender, theirs.from);
    case "to":
    case "cc":
      return isSameList(ours[field], theirs[field]) ? null : differ(ours[field], theirs[field]);
    case "date":
      return ours.date === theirs.date ? null : differ(ours.date, theirs.date);
    case "body": {
      if (theirs.body === null) return null;
      const text = theirs.body.type === "text/html" ? htmlToText(theirs.body.text) : theirs.body.text;
      // Our result also contains the other text parts, attachments and forwarded emails.
      return collapsed(ours.body).includes(collapsed(text)) ? null : differ(ours.body, text);
    }
    case "attachments": {
      const names = new Set(listedNames(ours.body).map(collapsed));
      const missing = theirs.attachments.filter((name) => !names.has(collapsed(name).slice(0, 200)));
      return missing.length === 0 ? null : differ([...names], theirs.attachments);
    }
  }
}

/** Where to look in two long strings. */
function excerpt([ours, theirs]: readonly [string, string]): string {
  let at = 0;
  while (at < ours.length && ours[at] === theirs[at]) at++;
  const around = (text: string) => text.slice(Math.max(0, at - 60), at + 140);
  return `  ours   ${around(ours)}\n  Python ${around(theirs)}`;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { field: { type: "string" }, examples: { type: "string", default: "3" } },
  });
  if (positionals.length === 0) throw new Error("Pass one or more folders of emails.");
  const paths = positionals.flatMap((folder) => [...mailsIn(folder)]);
  const python = parseWithPython(paths);
  const differences = new Map<Field, string[]>(FIELDS.map((field) => [field, []]));
  const counts = { compared: 0, agree: 0, refused: 0, pythonFailed: 0 };
  let slowest = { path: "", ms: 0 };
  for (const [i, path] of paths.entries()) {
    const raw = readFileSync(path);
    const start = performance.now();
    const ours = await parseEmail(raw);
    const ms = performance.now() - start;
    if (i > 20 && ms > slowest.ms) slowest = { path, ms };
    const theirs = python[i]?.mail ?? null;
    if (typeof ours === "string") {
      counts.refused++;
      console.log(`refused: ${path}: ${ours}`);
    } else if (theirs === null || (python[i]?.errors.length ?? 0) > 0) {
      counts.pythonFailed++;
    }
    if (typeof ours === "string" || theirs === null) continue;
    counts.compared++;
    const found = FIELDS.flatMap((field) => {
      const difference = differenceOf(field, { path, ours, theirs });
      if (difference === null) return [];
      differences.get(field)?.push(`${path}\n${excerpt(difference)}`);
      return [field];
    });
    if (found.length === 0) counts.agree++;
  }
  for (const field of FIELDS.filter((one) => values.field === undefined || one === values.field)) {
    for (const example of differences.get(field)?.slice(0, Number(values.examples)) ?? []) {
      console.log(`${field}: ${example}`);
    }
  }
  console.log(
    table(
      ["field", "agree", "differ"],
      FIELDS.map((field) => {
        const differ = differences.get(field)?.length ?? 0;
        return [field, String(counts.compared - differ), String(differ)];
      }),
    ),
  );
  console.log(
    `${counts.compared} compared, ${counts.agree} agree in every field, ${counts.refused} refused because they are not email, ${counts.pythonFailed} raise an error in Python`,
  );
  console.log(`Slowest: ${Math.round(slowest.ms)} ms, ${slowest.path}`);
}

await main();
