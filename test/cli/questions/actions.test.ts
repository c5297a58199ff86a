import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import type { Question } from "../../../src/tasks/question.js";
import { ENRON, needs } from "../../machine-requirements.js";
import { boxLines, jsonLines, MAIL, ROOT, workFolder } from "../art-e.js";

type Db = InstanceType<typeof Database>;
type Task = Question & { readonly goal: NonNullable<Question["goal"]> };

const DEMO_ACTIONS = join(ROOT, "fixtures/demo/actions.jsonl");

interface Row {
  readonly subject: string;
  readonly sender: string;
  readonly recipients: readonly string[];
  readonly day: string;
  readonly time: string;
  /** All Message-IDs of the email. */
  readonly ids: readonly string[];
}

function readMailbox(db: Db, address: string): readonly Row[] {
  const rows = db
    .prepare(
      `SELECT m.subject, m.sender, m.recipients, substr(m.date, 1, 10) AS day, m.date AS time,
              (SELECT json_group_array(message_id) FROM messages WHERE mail_id = m.id) AS ids
       FROM addresses a JOIN mailboxes b ON b.address_id = a.id JOIN mail_order o ON o.position = b.position
       JOIN mails m ON m.id = o.mail_id WHERE a.address = ? AND m.date IS NOT NULL`,
    )
    .all(address) as (Omit<Row, "recipients" | "ids"> & { readonly recipients: string; readonly ids: string })[];
  return rows.map((row) => ({ ...row, recipients: JSON.parse(row.recipients), ids: JSON.parse(row.ids) }));
}

const MONTHS = "January February March April May June July August September October November December".split(" ");

/** `14 March 2001` or `March 2001` as the start of an ISO date. */
function isoOf(text: string): string {
  const [year = "", month = "", day] = text.split(" ").reverse();
  const number = String(MONTHS.indexOf(month) + 1).padStart(2, "0");
  return day === undefined ? `${year}-${number}-` : `${year}-${number}-${day.padStart(2, "0")}`;
}

const without = (subject: string) =>
  subject
    .replace(/^(\s*(re|fw|fwd)\s*:)+/i, "")
    .trim()
    .toLowerCase();

/** The emails that the instruction means, read from its words alone, or null if it is not about marking emails. */
function meant(task: Task, rows: readonly Row[]): readonly Row[] | null {
  const me = task.inbox_address;
  const toMe = ({ sender, recipients }: Row) => sender !== me && recipients.includes(me);
  const rules: readonly [RegExp, (...groups: string[]) => (row: Row) => boolean][] = [
    [
      /^Label every email from (\S+) of (\w+ \d+) with/,
      (who, when) => (r) => r.sender === who && r.day.startsWith(isoOf(when)),
    ],
    [
      /^Move all emails that (\S+) sent in (\w+ \d+) to/,
      (who, when) => (r) => r.sender === who && r.day.startsWith(isoOf(when)),
    ],
    [/^Move the conversation "(.+)" to the folder/, (subject) => (r) => without(r.subject) === subject.toLowerCase()],
    [
      /^Flag every email whose subject contains the word "(\w+)"/,
      (word) => (r) =>
        r.subject
          .toLowerCase()
          .split(/[^\p{L}\p{N}]+/u)
          .includes(word),
    ],
    [/^Mark all emails that I received on (.+) as unread/, (when) => (r) => toMe(r) && r.day === isoOf(when)],
    [
      /^Label all emails of (\w+ \d+) whose sender has an address at (\S+) with/,
      (when, domain) => (r) =>
        r.sender !== me && r.sender.split("@").at(-1) === domain && r.day.startsWith(isoOf(when)),
    ],
    [
      /^Label every email that I sent to (\S+) in (\w+ \d+),/,
      (who, when) => (r) => r.sender === me && r.recipients.includes(who) && r.day.startsWith(isoOf(when)),
    ],
    [
      /^Flag every email that (\S+) sent me in (\w+ \d+) and that I have not answered/,
      (who, when) => (r) =>
        r.sender === who &&
        r.day.startsWith(isoOf(when)) &&
        !rows.some(
          (other) =>
            other.sender === me &&
            other.recipients.includes(who) &&
            without(other.subject) === without(r.subject) &&
            other.time > r.time,
        ),
    ],
  ];
  for (const [pattern, rule] of rules) {
    const [, ...groups] = pattern.exec(task.question) ?? [];
    if (groups.length > 0) return rows.filter(rule(...groups));
  }
  return null;
}

/** The one email that `"subject" from sender of day` names. */
function named(text: string, rows: readonly Row[]): Row {
  const [, subject = "", sender, when = ""] = /"(.+)" from (\S+) of (\d+ \w+ \d+)/.exec(text) ?? [];
  const found = rows.filter((r) => r.subject.trim() === subject && r.sender === sender && r.day === isoOf(when));
  expect(found, text).toHaveLength(1);
  return found[0] as Row;
}

/** Checks the goal of a task against the mail, without the code that made it. Returns the kind that was checked. */
function checkGoal(task: Task, mailbox: readonly Row[]): string {
  const { goal, question, inbox_address: me } = task;
  const rows = mailbox.filter(({ day }) => day <= task.query_date);
  const expectMarked = (marked: readonly string[], expected: readonly Row[]) => {
    expect(marked.length, question).toBe(expected.length);
    for (const { ids } of expected)
      expect(
        marked.some((id) => ids.includes(id)),
        `${question} ${ids[0]}`,
      ).toBe(true);
  };
  const idsOf = (i: number) => goal.emails[i]?.message_ids ?? [];
  const emails = meant(task, rows);
  if (emails !== null) {
    expectMarked(idsOf(0), emails);
    expect(goal.emails.length + goal.sent.length + goal.drafts.length, question).toBe(1);
    return "marks";
  }
  if (/^Label the email/.test(question)) {
    const [, who = "", when = ""] = /If (\S+) wrote to me on (.+?),/.exec(question) ?? [];
    expectMarked(idsOf(0), [named(question, rows)]);
    const those = rows.filter((r) => r.sender === who && r.day === isoOf(when));
    expectMarked(idsOf(1), those);
    return those.length > 0 ? "condition true" : "condition false";
  }
  if (/^(Reply to|Answer everyone on) the email/.test(question)) {
    const original = named(question, rows);
    const [sent] = goal.sent;
    expect(original.ids).toContain(sent?.reply_to);
    const left = /except (\S+), and write/.exec(question)?.[1];
    const everyone = new Set([original.sender, ...original.recipients].filter((one) => one !== me && one !== left));
    expect(new Set(sent?.recipients)).toEqual(left === undefined ? new Set([original.sender]) : everyone);
    return left === undefined ? "reply" : "reply to all but one";
  }
  const [, to] = /(?:draft to|question to) (\S+?)(?: that| as|:| and)/.exec(question) ?? [];
  const drafts = task.drafts ?? [];
  if (drafts.length > 0) {
    const [draft, other] = drafts.filter((one) => one.to.includes(to ?? ""));
    expect(other, question).toBeUndefined();
    expect([...goal.discarded, ...goal.sent.map(({ message_id }) => message_id)], question).toEqual([
      draft?.message_id,
    ]);
    return "drafts";
  }
  expect(
    [...goal.drafts, ...goal.sent].map(({ recipients }) => recipients),
    question,
  ).toEqual([[to]]);
  return /^Forward/.test(question) ? "forward" : "draft";
}

function checkAll(file: string, tasks: readonly Task[]): ReadonlySet<string> {
  const db = new Database(file, { readonly: true });
  try {
    const mailboxes = new Map<string, readonly Row[]>();
    const mailboxOf = (address: string) => {
      const rows = mailboxes.get(address) ?? readMailbox(db, address);
      mailboxes.set(address, rows);
      return rows;
    };
    return new Set(tasks.map((task) => checkGoal(task, mailboxOf(task.inbox_address))));
  } finally {
    db.close();
  }
}

const CHECKED = [
  "marks",
  "condition true",
  "condition false",
  "reply",
  "reply to all but one",
  "drafts",
  "forward",
  "draft",
];

describe("tasks that ask for actions", () => {
  const { artE, path, read } = workFolder({ mail: MAIL });
  const scores = async (agent: string, dataset: string) => {
    const { stdout, stderr } = await artE(["run", "-a", agent, "--dataset", dataset, "-l", "0", "-o", `${agent}.json`]);
    expect(stderr).not.toContain("art-e: ");
    return boxLines(stdout);
  };

  it("have goals that a second implementation finds in the mail, and no two are alike", async () => {
    const { code } = await artE("questions make --kind actions -n 100 -o actions.jsonl --quiet");
    expect(code).toBe(0);
    const tasks = jsonLines(read("actions.jsonl")) as Task[];
    expect(tasks).toHaveLength(100);
    expect(new Set(tasks.map((task) => `${task.inbox_address} ${task.question}`)).size).toBe(100);
    expect([...checkAll(path("art-e.db"), tasks)].sort()).toEqual([...CHECKED].sort());
  });

  it("do not change with the same seed", async () => {
    await artE("questions make --kind actions -n 20 --seed 7 -o a.jsonl --quiet");
    await artE("questions make --kind actions -n 20 --seed 7 -o b.jsonl --quiet");
    await artE("questions make --kind actions -n 20 --seed 8 -o c.jsonl --quiet");
    expect(read("b.jsonl")).toBe(read("a.jsonl"));
    expect(read("c.jsonl")).not.toBe(read("a.jsonl"));
  });

  it("can all be solved by the oracle, none by an idle agent, and some by rules", async () => {
    expect(await scores("oracle", DEMO_ACTIONS)).toMatchObject({
      "Goal reached": "1.000 [0.940, 1.000] n=60",
      "Collateral changes": "0.000 n=60",
    });
    expect(await scores("noop", DEMO_ACTIONS)).toMatchObject({ "Goal reached": "0.000 [0.000, 0.060] n=60" });
    const rules = await scores("mail-rules", DEMO_ACTIONS);
    const reached = Number(rules["Goal reached"]?.split(" ")[0]);
    expect(reached).toBeGreaterThan(0.4);
    expect(reached).toBeLessThan(0.8);
  });

  it("decide gates and comparisons by the goals reached", async () => {
    const gate = await artE("gate noop.json --baseline oracle.json");
    expect(gate.code).toBe(3);
    expect(gate.stdout + gate.stderr).toContain("goalReached");
    expect((await artE("gate noop.json --fail-under collateral=0")).code).toBe(3);
    expect((await artE("gate oracle.json --fail-under accuracy=0.9 --fail-under partial=0.9")).code).toBe(0);
  });

  it("show requested, done and collateral actions", async () => {
    const { stdout } = await artE("show latest/1");
    expect(stdout).toMatch(/^Change: {3}(done|missing) /m);
    const report = await artE("report latest -o report.html");
    expect(report.code).toBe(0);
    expect(read("report.html")).toContain("Changes in the mailbox");
  });

  it.each([
    "questions check DATASET",
    "questions review DATASET --no-open",
    "eval-search --dataset DATASET",
    "env export -o tasks --dataset DATASET",
  ])("cannot be used by art-e %s, which needs answers", async (line) => {
    const { code, stderr } = await artE(line.replace("DATASET", DEMO_ACTIONS));
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("question 1 asks for actions") });
  });

  it("require a .jsonl file", async () => {
    const { code, stderr } = await artE("questions make --kind actions -o actions.csv");
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("expected a .jsonl file") });
  });
});

describe("action tasks about real mail", { ...needs("real-mail"), timeout: 300_000 }, () => {
  const { artE, path, read } = workFolder();
  const NUMBER = process.env.ART_E_SLOW === undefined ? 300 : 2_000;

  it("have goals that a second implementation finds in the mail", async () => {
    for (const file of ["emails.csv", "folders.tar.gz"]) await artE(["import", join(ENRON, file), "--quiet"]);
    await artE(`questions make --kind actions -n ${NUMBER} -o actions.jsonl --quiet`);
    const tasks = jsonLines(read("actions.jsonl")) as Task[];
    expect(tasks).toHaveLength(NUMBER);
    expect([...checkAll(path("art-e.db"), tasks)].sort()).toEqual([...CHECKED].sort());
  });
});
