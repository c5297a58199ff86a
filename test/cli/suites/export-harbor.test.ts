import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, watch } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { parse } from "smol-toml";
import { beforeAll, describe, expect, it } from "vitest";
import { withReadOnly } from "../../../src/store/open-store.js";
import type { Question } from "../../../src/tasks/question.js";
import { ENRON, needs, slow } from "../../machine-requirements.js";
import { machinesStart } from "../../suites/machines-start.js";
import { demoQuestions, MAIL, MARCUS, QUESTIONS, ROOT, workFolder } from "../art-e.js";

/** Questions as Harbor tasks: the contents of the folders, and the steps of a trial in a separate sandbox. */

const UNANSWERABLE = join(ROOT, "fixtures/demo/unanswerable.jsonl");
const { artE, path, read, start, write } = workFolder({ mail: MAIL });

beforeAll(async () => {
  for (const [file, folder, limit] of [
    [QUESTIONS, "tasks", 0],
    [UNANSWERABLE, "none", 4],
  ]) {
    const { code, stderr } = await artE(`env export --dataset ${file} -l ${limit} -o ${folder} --quiet`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  }
});

const idOf = ({ id }: Question) => `test-${String(id).padStart(5, "0")}`;

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

interface Mail {
  readonly message_id: string;
  readonly date: string;
}

function mailboxOf(task: string, folder = "tasks"): Mail[] {
  const text = gunzipSync(readFileSync(path(`${folder}/${task}/environment/mailbox.jsonl.gz`))).toString();
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe("art-e env export --format harbor", () => {
  it("writes one folder per question, which contains everything that a task needs", () => {
    expect(readdirSync(path("tasks"))).toEqual(["README.md", "dataset.toml", ...demoQuestions.map(idOf)].sort());
    for (const question of demoQuestions) {
      const task = path(`tasks/${idOf(question)}`);
      expect(filesBelow(task)).toEqual([
        "environment/Dockerfile",
        "environment/mail",
        "environment/mailbox.jsonl.gz",
        "instruction.md",
        "solution/answer.json",
        "solution/solve.sh",
        "task.toml",
        "tests/expected.json",
        "tests/grade.py",
        "tests/test.sh",
      ]);
      for (const script of ["environment/mail", "solution/solve.sh", "tests/test.sh"]) {
        expect(statSync(join(task, script)).mode & 0o111).toBe(0o111);
      }
      expect(parse(readFileSync(join(task, "task.toml"), "utf8"))).toMatchObject({
        schema_version: "1.3",
        task: { name: `art-e/${idOf(question)}` },
        metadata: { question_id: question.id, inbox_address: question.inbox_address, query_date: question.query_date },
        environment: { healthcheck: { command: "python3 /usr/local/bin/mail index" } },
      });
      const instruction = readFileSync(join(task, "instruction.md"), "utf8");
      expect(instruction.startsWith(`${question.question}\n`)).toBe(true);
      for (const word of [question.inbox_address, question.query_date, "/app/answer.json"]) {
        expect(instruction).toContain(word);
      }
    }
  });

  it("includes the mailbox up to the question's date, and nothing else", () => {
    const inboxes = new Map<string, string[]>();
    withReadOnly(path("art-e.db"), (db) => {
      const rows = db.prepare(
        `SELECT (SELECT min(message_id) FROM messages WHERE mail_id = o.mail_id)
         FROM mail_order o JOIN mailboxes b ON b.position = o.position JOIN addresses a ON a.id = b.address_id
         WHERE o.date < ? AND a.address = ?`,
      );
      for (const question of demoQuestions) {
        const ids = rows.pluck().all(`${question.query_date}T24`, question.inbox_address) as string[];
        inboxes.set(idOf(question), ids.sort());
      }
    });
    for (const question of demoQuestions) {
      const task = idOf(question);
      const mails = mailboxOf(task);
      expect(mails.map(({ message_id }) => message_id).sort()).toEqual(inboxes.get(task));
      expect(mails.length).toBeGreaterThan(0);
      for (const { date } of mails) expect(date.slice(0, 10) <= question.query_date).toBe(true);
      // Except for the mail itself, which contains the answer, no file contains the answer or an email's id.
      for (const file of ["instruction.md", "environment/Dockerfile", "environment/mail"]) {
        const text = read(`tasks/${task}/${file}`);
        for (const id of question.message_ids) expect(text).not.toContain(id.replace(/[<>]/g, ""));
        if (!question.question.includes(question.answer)) expect(text).not.toContain(question.answer);
      }
    }
  });

  it(
    "includes the same emails as the raw files for real mail, and does not reveal an answer",
    slow(needs("real-mail")),
    async () => {
      const linesOf = (file: string) => readFileSync(join(ENRON, file), "utf8").trim().split("\n");
      const questions = linesOf("questions.jsonl").map((line) => JSON.parse(line) as Question);
      execFileSync("tar", ["-xzf", join(ENRON, "maildir.tar.gz"), "-C", path(".")]);
      expect((await artE(`import ${path("maildir")} --db real.db --quiet`)).code).toBe(0);
      const line = `env export --dataset ${join(ENRON, "questions.jsonl")} -l 0 -o real --db real.db --quiet`;
      expect(await artE(line)).toMatchObject({ code: 0, stderr: "" });
      const addressOf = new Map(linesOf("owner_address_map.tsv").map((row) => row.split("\t") as [string, string]));
      const mails = filesBelow(path("maildir")).map((file) => {
        const [head = "", ...body] = read(`maildir/${file}`).split(/\r?\n\r?\n/);
        const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, "im").exec(head)?.[1]?.trim() ?? "";
        const sent = field("Date");
        return {
          id: field("Message-ID"),
          day: new Date(sent.replace(/\(.*/, "")).toISOString().slice(0, 10),
          owner: addressOf.get(file.split("/")[0] ?? ""),
          head: head.toLowerCase(),
          content: [sent, field("From"), field("Subject"), ...body].join("\n").trim(),
        };
      });
      for (const question of questions) {
        const { inbox_address: inbox, query_date, answer, message_ids } = question;
        // In the owner's mailbox, or from or to the owner. A copy may have another email's Message-ID.
        const isAllowed = ({ day, owner, head }: (typeof mails)[number]) =>
          day <= query_date && (owner === inbox || head.includes(inbox));
        const contents = new Set(mails.filter(isAllowed).map(({ content }) => content));
        const allowed = new Set(mails.flatMap(({ id, content }) => (contents.has(content) ? [id] : [])));
        const task = idOf(question);
        const ids = mailboxOf(task, "real").map(({ message_id }) => message_id);
        expect(ids.length).toBeGreaterThan(0);
        expect(ids.filter((id) => !allowed.has(id))).toEqual([]);
        for (const file of filesBelow(path(`real/${task}`))) {
          if (/^(?:solution|tests)\/|mailbox\.jsonl\.gz$/.test(file)) continue;
          const text = read(`real/${task}/${file}`);
          const told = [answer, ...message_ids].filter((secret) => !question.question.includes(secret));
          expect(told.filter((secret) => text.includes(secret))).toEqual([]);
        }
      }
    },
  );

  it("records the hashes of each task's files", () => {
    const { dataset, tasks } = parse(read("tasks/dataset.toml")) as {
      dataset: { name: string };
      tasks: { name: string; digest: string }[];
    };
    expect(dataset.name).toBe("art-e/tasks");
    const sha256 = (content: string | Buffer) => createHash("sha256").update(content).digest("hex");
    expect(tasks).toEqual(
      demoQuestions.map(idOf).map((id) => {
        const lines = filesBelow(path(`tasks/${id}`)).map(
          (file) => `${file}\0${sha256(readFileSync(path(`tasks/${id}/${file}`)))}\n`,
        );
        return { name: `art-e/${id}`, digest: `sha256:${sha256(lines.join(""))}` };
      }),
    );
  });

  it("accepts a selection of questions, an organization and an image name", async () => {
    const flags = `--inbox ${MARCUS} -l 2 --org me --docker-image reg.example/me/art-e:{task}`;
    const { stdout } = await artE(`env export --dataset ${QUESTIONS} ${flags} -o two --json`);
    expect(JSON.parse(stdout)).toMatchObject({ folder: path("two"), tasks: 2, withoutGoldMail: [] });
    const [first = ""] = readdirSync(path("two")).filter((name) => name.startsWith("test-"));
    expect(parse(read(`two/${first}/task.toml`))).toMatchObject({
      task: { name: `me/${first}` },
      environment: { docker_image: `reg.example/me/art-e:${first}` },
    });
  });

  it.each([
    ["-o tasks", "tasks: it already exists"],
    ["-o new --org ../x", "--org: expected letters"],
    ["-o new --docker-image python:3.12-slim", "--docker-image: expected an image name that contains {task}"],
    ["-o new --format tb", "--format"],
    ["", "--output"],
  ])("rejects %s", async (flags, message) => {
    const { code, stderr } = await artE(`env export --dataset ${QUESTIONS} ${flags}`);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect(readdirSync(path(".")).filter((name) => name.startsWith("new"))).toEqual([]);
  });

  it("reports tasks whose mailbox does not contain the gold mail", async () => {
    const [question] = demoQuestions;
    const file = write("early.jsonl", `${JSON.stringify({ ...question, query_date: "1999-12-31" })}\n`);
    const { code, stderr } = await artE(`env export --dataset ${file} -l 0 -o early`);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining("Tasks without gold emails in the mailbox on their date: 1 (test-"),
    });
  });

  it("leaves nothing if interrupted", async () => {
    const { child, ended } = start(`env export --dataset ${QUESTIONS} -l 0 -o stopped`);
    await new Promise<void>((resolve) => {
      const watcher = watch(path("."), (_, name) => {
        if (name?.startsWith("stopped.") !== true) return;
        watcher.close();
        resolve();
      });
    });
    child.kill("SIGINT");
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringContaining("was not written") });
    expect(readdirSync(path(".")).filter((name) => name.startsWith("stopped"))).toEqual([]);
  });
});

interface Trial {
  readonly task: string;
  readonly json: Readonly<Record<string, number>>;
  readonly text: number;
  readonly agent: string;
}

/** A trial of each task in a folder. The agent is oracle, nop, or a script. */
async function trials(folder: string, agent: string): Promise<Trial[]> {
  const system =
    "--unshare-all --die-with-parent --uid 0 --gid 0 --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib " +
    "--symlink usr/lib64 /lib64 --dev /dev --proc /proc --tmpfs /tmp --tmpfs /usr/local";
  const files = [
    "--ro-bind",
    path(folder),
    "/tasks",
    "--ro-bind",
    join(import.meta.dirname, "harbor-trial.sh"),
    "/trial.sh",
  ];
  const command = "--clearenv --setenv PATH /usr/local/bin:/usr/bin:/bin bash /trial.sh /tasks";
  const { stdout } = await promisify(execFile)(
    "bwrap",
    [...system.split(" "), ...files, ...command.split(" "), agent],
    { maxBuffer: 2 ** 28 },
  );
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe("a trial of an exported task", needs("sandbox", machinesStart), () => {
  const ALL = ["tasks", demoQuestions.length] as const;
  const FEW = ["none", 4] as const;
  const STRESS = { tags: ["slow"] };

  async function expectGrades(folder: string, count: number): Promise<void> {
    const [oracle, nop] = await Promise.all([trials(folder, "oracle"), trials(folder, "nop")]);
    expect(oracle.map(({ json, text }) => [json.reward, text])).toEqual(Array(count).fill([1, 1]));
    expect(nop.map(({ json, text }) => [json.reward, text])).toEqual(Array(count).fill([0, 0]));
  }

  async function expectGradesOfSuite(folder: string, count: number): Promise<void> {
    const check = await artE(`suite check ${folder}`);
    expect(check).toMatchObject({ code: 0, stdout: `${folder}: ${count} tasks read, 0 errors, 0 warnings\n` });
    for (const [agent, score] of [
      ["oracle", 1],
      ["noop", 0],
    ]) {
      const { code, stdout, stderr } = await artE(`run -a ${agent} --suite ${folder} --json --quiet`);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(JSON.parse(stdout).scores).toMatchObject({
        taskScore: { n: count, value: score },
        taskSolved: { value: score },
      });
    }
  }

  it.each([FEW])("gives the oracle 1 and an idle agent 0 on each of %s", expectGrades);
  it.each([ALL])("gives the oracle 1 and an idle agent 0 on each of %s", STRESS, expectGrades);
  it.each([FEW])("reaches the same scores in a run over the folder %s as a suite", expectGradesOfSuite);
  it.each([ALL])("reaches the same scores in a run over the folder %s as a suite", STRESS, expectGradesOfSuite);

  it("lets the agent search, read and answer with the command in the environment", async () => {
    const agent = `
id=$(mail search exchange ratio Heron --json | python3 -c 'import json, sys; print(([e["message_id"] for e in json.load(sys.stdin)["emails"]] + ["none"])[0])')
[ "$id" = none ] || mail read "$id" | head -1
mail search --from marcus --before 2000-01-01 --limit 1
mail search "what's up? AND (OR *" --limit 1 | wc -l
mail search
mail read '<none@nowhere>'
mail answer "$(printf 'a "b"\\n%s' "$id")" --source "$id"
cat /app/answer.json`;
    const results = await trials("none", agent);
    expect(results).toHaveLength(4);
    expect(results.filter(({ agent }) => /^Message-ID: </m.test(agent)).length).toBeGreaterThan(0);
    for (const { agent, json } of results) {
      expect(agent).toContain("mail search: expected words, or --from");
      expect(agent).toContain("unknown email <none@nowhere>");
      expect(agent).not.toContain("Traceback");
      expect(JSON.parse(/^\{"answer.*$/m.exec(agent)?.[0] ?? "").answer).toMatch(/^a "b"\n/);
      expect(json.reward).toBe(0);
    }
  });

  it("scores a trick answer 0 instead of leaving it unscored", async () => {
    const agent = `
mkdir -p /app/json && echo 'raise SystemExit(0)' > /app/json.py && echo 'exit 0' > /app/python3 && chmod +x /app/python3
echo '{"reward": 1}' > /logs/verifier/reward.json; echo 1 > /logs/verifier/reward.txt
ln -s /tests/expected.json /app/answer.json`;
    for (const { json, text } of await trials("none", `${agent}\nexport PATH=/app:$PATH`)) {
      expect([json.reward, text]).toEqual([0, 0]);
    }
  });
});
