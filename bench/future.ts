import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readMailboxHistory } from "../src/mail/mailbox-history.js";
import { openMailboxes } from "../src/mail/mailboxes.js";
import { OpenEmails, SELECTION_PERIODS } from "../src/mail/open-emails.js";
import { tasksOf } from "../src/questions/make-selections.js";
import { type Db, openStore } from "../src/store/open-store.js";
import { questionSchema } from "../src/tasks/question.js";
import { MADE_KINDS, type MadeKind } from "../src/tasks/selection.js";
import { count, estimate, share, table } from "../src/text/format.js";
import { AGREEMENT_COLUMNS, agreementRows, type Label, readLabels } from "./future-labels.js";
import {
  bestThreshold,
  FEATURES,
  fitLogistic,
  type LogisticModel,
  type OpenExample,
  openExamples,
} from "./reply-model.js";
import { importReal } from "./search-quality/question-sets.js";

/**
 * Measures the tasks about the future of a mailbox. First, how often the rules that make them agree with a reader
 * of the emails and of what followed, and how many tasks the mailboxes give. Then, what agents without a language model
 * reach on the tasks of the test mailboxes.
 */

const AGENT = fileURLToPath(new URL("./future-agent.mjs", import.meta.url));
const DEMO = fileURLToPath(new URL("../fixtures/future/demo", import.meta.url));
const PROGRAM = fileURLToPath(new URL("../bin/art-e.js", import.meta.url));

const program = (...args: readonly string[]) => ["--agent-command", [process.execPath, AGENT, ...args].join(" ")];

const AGENTS: Readonly<Record<string, readonly string[]>> = {
  none: ["-a", "noop"],
  "all in the window": [...program("all"), "-a", "all"],
  "newest 3": [...program("newest"), "-a", "newest"],
  "open, to one person, question mark": [...program("rule"), "-a", "rule"],
  baseline: ["-a", "baseline"],
  "mail-rules": ["-a", "mail-rules"],
};

export function printFutureBench(enron: string, folder: string): void {
  if (!existsSync(join(enron, "maildir.tar.gz"))) throw new Error(`no mail in ${enron}`);
  const file = importReal(enron, folder);
  const db = openStore(file, { mustExist: true });
  printAgreement(db);
  const mailboxes = openMailboxes(db).addresses;
  printYields(db, mailboxes);
  const test = mailboxes.filter(isTest);
  console.log(`Test mailboxes: ${test.join(", ")}.`);
  for (const kind of MADE_KINDS) {
    const dataset = join(folder, `${kind}.jsonl`);
    try {
      const flags = ["--kind", kind, "--inbox", ...test, "-n", "2000", "--unanswerable", "0.5"];
      runArtE(file, folder, "questions", "make", ...flags, "-o", dataset, "--overwrite");
    } catch {
      // The program has printed the reason.
      console.log(`${kind}: no tasks from the test mailboxes\n`);
      continue;
    }
    const learned = (tasks: readonly MailboxDay[]) => learnedAgents(db, examplesOfTasks(db, mailboxes), tasks, folder);
    printAgents(
      { name: `${kind}, test mailboxes`, kind, dataset, db, folder },
      kind === "needs-reply" ? learned : null,
    );
  }
  db.close();
  printDemoAgents(folder);
}

/** Prints what the agents reach on the tasks that were written by hand. */
function printDemoAgents(folder: string): void {
  const file = join(folder, "future-demo.db");
  if (!existsSync(file)) runArtE(file, folder, "import", join(DEMO, "mail"));
  const db = openStore(file, { mustExist: true });
  for (const kind of MADE_KINDS) {
    printAgents({ name: `${kind}, demo`, kind, dataset: join(DEMO, `${kind}.jsonl`), db, folder }, null);
  }
  db.close();
}

function runArtE(db: string, folder: string, ...args: readonly string[]): void {
  execFileSync(process.execPath, [PROGRAM, "--db", db, "--quiet", ...args], { cwd: folder, encoding: "utf8" });
}

interface TaskSet {
  readonly name: string;
  readonly kind: MadeKind;
  readonly dataset: string;
  readonly db: Db;
  readonly folder: string;
}

/** Prints what agents reach on a dataset. `learned` returns more agents, fitted on other mailboxes. */
function printAgents(
  { name, kind, dataset, db, folder }: TaskSet,
  learned: ((tasks: readonly MailboxDay[]) => typeof AGENTS) | null,
): void {
  const tasks = readTaskDays(dataset);
  const right = tasks.filter((task) => task.right > 0);
  console.log(
    `${name}: ${count(tasks.length)} tasks from ${countOwners(tasks)} mailboxes, ${count(right.length)} with a right email from ${countOwners(right)}.`,
  );
  const agents = { ...AGENTS, "all open": openAgent(db, kind, tasks, folder), ...learned?.(tasks) };
  const rows = Object.entries(agents).map(([agent, flags]) => {
    const output = join(folder, "results.json");
    runArtE(
      db.name,
      folder,
      "run",
      ...flags,
      "--dataset",
      dataset,
      "-l",
      "0",
      "-o",
      output,
      "--overwrite",
      "--config",
      "off",
    );
    const { scores } = JSON.parse(readFileSync(output, "utf8")) as { scores: Record<string, ScoreFigures> };
    const { selectionF1, selectionPrecision, selectionRecall } = scores;
    if (selectionF1 === undefined) throw new Error(`${output} has no selectionF1`);
    const { value, n, byInbox, micro } = selectionF1;
    const microOf = (figures: ScoreFigures | undefined) => share(figures?.micro.value ?? null);
    return [
      agent,
      estimate({ value, ...byInbox, n }),
      share(micro.value),
      microOf(selectionPrecision),
      microOf(selectionRecall),
    ];
  });
  console.log(table([name, "F1, mailboxes as clusters", "F1 of all emails", "precision", "recall"], rows));
}

/** Whether a mailbox is for the test. The other half is for tuning. A hash decides, so that nobody chose. */
function isTest(address: string): boolean {
  const [first = 0] = createHash("sha256").update(address).digest();
  return first % 2 === 1;
}

type Examples = ReadonlyMap<string, readonly OpenExample[]>;

/** Returns the open emails in the needs-reply tasks of each mailbox. */
function examplesOfTasks(db: Db, mailboxes: readonly string[]): Examples {
  return new Map(
    mailboxes.map((owner) => {
      const examplesOf = openExamples(db, owner);
      const { tasks } = tasksOf("needs-reply", owner, readMailboxHistory(db, owner), {});
      return [owner, tasks.flatMap(({ query_date: day }) => examplesOf({ day, ...SELECTION_PERIODS["needs-reply"] }))];
    }),
  );
}

interface FittedModel {
  readonly model: LogisticModel;
  readonly threshold: number;
}

/**
 * Returns a function that fits the model of a mailbox on the tuning mailboxes. If these have no right email, it is
 * fitted on all mailboxes except its own. Returns null if these have none either.
 */
function fitReplyModels(examples: Examples): (owner: string) => FittedModel | null {
  const isRight = ({ isRight }: OpenExample) => isRight;
  const tuning = [...examples].filter(([address]) => !isTest(address)).flatMap(([, each]) => each);
  console.log(
    `Logistic model: the ${count(tuning.length)} open emails in the tasks of the tuning mailboxes have ${count(tuning.filter(isRight).length)} right ones.`,
  );
  return (owner) => {
    const others = [...examples].filter(([address]) => address !== owner).flatMap(([, each]) => each);
    const used = tuning.some(isRight) ? tuning : others;
    const right = used.filter(isRight);
    console.log(
      `For ${owner}, it is fitted on ${count(used.length)} open emails with ${count(right.length)} right ones (${count(new Set(right.map(({ id }) => id)).size)} different).`,
    );
    if (right.length === 0) return null;
    const model = fitLogistic(used);
    const threshold = bestThreshold(model, used);
    const strongest = FEATURES.map((name, j) => ({ name, coefficient: model.coefficients[j] ?? 0 }))
      .sort((a, b) => Math.abs(b.coefficient) - Math.abs(a.coefficient))
      .slice(0, 3);
    console.log(
      `  Threshold ${share(threshold)}. Strongest: ${strongest.map(({ name, coefficient }) => `${name} ${coefficient.toFixed(2)}`).join(", ")}.`,
    );
    return { model, threshold };
  };
}

interface MailboxDay {
  readonly owner: string;
  readonly day: string;
  /** Number of right emails. */
  readonly right: number;
}

function readTaskDays(dataset: string): readonly MailboxDay[] {
  const lines = readFileSync(dataset, "utf8").trim().split("\n");
  return lines.map((line) => {
    const { inbox_address: owner, query_date: day, select } = questionSchema.parse(JSON.parse(line));
    return { owner, day, right: select?.emails.length ?? 0 };
  });
}

function countOwners(tasks: readonly MailboxDay[]): string {
  return count(new Set(tasks.map(({ owner }) => owner)).size);
}

/** Returns the flags of an agent that selects these emails, one list of Message-IDs per task. */
function selectingAgent(
  name: string,
  tasks: readonly MailboxDay[],
  selected: readonly (readonly string[])[],
  folder: string,
): readonly string[] {
  const file = join(folder, `${name}.json`);
  writeFileSync(
    file,
    JSON.stringify(Object.fromEntries(tasks.map(({ owner, day }, i) => [`${owner} ${day}`, selected[i]]))),
  );
  return [...program("file", file), "-a", name];
}

/** Returns an agent that selects all open emails. */
function openAgent(db: Db, kind: MadeKind, tasks: readonly MailboxDay[], folder: string): readonly string[] {
  const selected = tasks.map(({ owner, day }) => {
    const openEmails = new OpenEmails(owner, readMailboxHistory(db, owner));
    const open = openEmails.open(kind, { day, ...SELECTION_PERIODS[kind] });
    return open.map(({ email }) => email.ids[0] ?? email.messageId);
  });
  return selectingAgent("all-open", tasks, selected, folder);
}

/** Returns agents that select the open emails that the logistic model prefers. */
function learnedAgents(db: Db, examples: Examples, tasks: readonly MailboxDay[], folder: string) {
  const inboxes = [...new Set(tasks.map(({ owner }) => owner))];
  const examplesOf = new Map(inboxes.map((owner) => [owner, openExamples(db, owner)]));
  const modelOf = fitReplyModels(examples);
  const models = new Map(inboxes.map((owner) => [owner, modelOf(owner)]));
  /** Open emails of each task with their probabilities, the most probable first. */
  const ranked = tasks.map(({ owner, day }) => {
    const fitted = models.get(owner);
    const open = examplesOf.get(owner)?.({ day, ...SELECTION_PERIODS["needs-reply"] }) ?? [];
    const emails = open.map(({ id, features }) => ({ id, p: fitted?.model.probability(features) ?? 0 }));
    return { threshold: fitted?.threshold ?? 1, emails: emails.sort((a, b) => b.p - a.p) };
  });
  const agent = (name: string, select: (task: (typeof ranked)[number]) => (typeof ranked)[number]["emails"]) => {
    const selected = ranked.map((task) => select(task).map(({ id }) => id));
    return selectingAgent(name, tasks, selected, folder);
  };
  return {
    "logistic, above threshold": agent("logistic", ({ emails, threshold }) => emails.filter(({ p }) => p >= threshold)),
    "logistic, best 3": agent("logistic-3", ({ emails }) => emails.slice(0, 3)),
  };
}

/** The figures of a score in a results file that this benchmark prints. */
interface ScoreFigures {
  readonly value: number | null;
  readonly n: number;
  readonly byInbox: { readonly low: number | null; readonly high: number | null };
  readonly micro: { readonly value: number | null };
}

/** Prints the number of tasks per mailbox if task days are at least this many days apart, and the time to make them. */
function printYields(db: Db, mailboxes: readonly string[]): void {
  const rows = MADE_KINDS.flatMap((kind) =>
    mailboxes.map((owner) => {
      const started = process.cpuUsage();
      const emails = readMailboxHistory(db, owner);
      const { tasks } = tasksOf(kind, owner, emails, {});
      const ms = process.cpuUsage(started).user / 1_000;
      const yields = SPACINGS.map((days) => {
        const apart = spaced(tasks, days);
        return `${apart.length} (${apart.filter(({ select }) => select.emails.length > 0).length})`;
      });
      return [kind, owner, count(emails.length), ...yields, `${ms.toFixed(0)} ms`];
    }),
  );
  const apart = SPACINGS.map((days) => `${days} ${days === 1 ? "day" : "days"} apart`);
  console.log(table(["tasks (with a right email)", "mailbox", "emails", ...apart, "processor time"], rows));
}

const SPACINGS = [1, 7, 14];

/** Returns tasks whose days are at least this far apart, in the order of their days. Prefers those with a right email. */
function spaced<T extends { readonly query_date: string; readonly select: { readonly emails: readonly unknown[] } }>(
  tasks: readonly T[],
  days: number,
): readonly T[] {
  const chosen: T[] = [];
  const dayOf = ({ query_date }: T) => Date.parse(query_date) / 86_400_000;
  const decided = tasks.filter(({ select }) => select.emails.length > 0);
  for (const task of [...decided, ...tasks]) {
    if (chosen.every((other) => Math.abs(dayOf(other) - dayOf(task)) >= days)) chosen.push(task);
  }
  return chosen;
}

/** Prints how often the current rules agree with the reader, and the verdicts that differ from the stored ones. */
function printAgreement(db: Db): void {
  const ruleOf = rulesOver(db);
  const stored = readLabels();
  const labels = stored.map((label) => ({ ...label, rule: ruleOf(label) ?? label.rule }));
  console.log(table(AGREEMENT_COLUMNS, agreementRows(labels)));
  for (const [i, { id, kind, rule }] of labels.entries()) {
    if (rule !== stored[i]?.rule) console.log(`The verdict on ${id} (${kind}) is now ${rule}.`);
  }
}

/** Returns the current rule's verdict about an email on a day, or null for a kind without a rule. */
function rulesOver(db: Db): (label: Label) => "yes" | "no" | null {
  const byMailbox = new Map<string, OpenEmails>();
  return ({ id, mailbox, date: day, kind }) => {
    if (!isMadeKind(kind)) return null;
    const openEmails = byMailbox.get(mailbox) ?? new OpenEmails(mailbox, readMailboxHistory(db, mailbox));
    byMailbox.set(mailbox, openEmails);
    const open = openEmails.open(kind, { day, ...SELECTION_PERIODS[kind] });
    const found = open.find(({ email }) => email.ids.includes(id));
    return found === undefined || found.answer === null ? "no" : "yes";
  };
}

function isMadeKind(kind: string): kind is MadeKind {
  return (MADE_KINDS as readonly string[]).includes(kind);
}
