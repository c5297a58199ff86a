// Exports questions with their mail as tasks in Harbor's format, for other programs to run. `harbor/` reads such tasks.
import { basename, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { stringify } from "smol-toml";
import { endOfDay } from "../mail/date-range.js";
import { type MailLookup, openMailboxListing, openMailLookup } from "../mail/mail-lookup.js";
import { type AppContext, Interrupted } from "../platform/app-context.js";
import { checkNewFolder, writeFolderAtomically } from "../platform/files.js";
import { programVersion, readBuiltFile } from "../platform/program-files.js";
import { sha256Of } from "../platform/sha256.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import { checkMailboxes } from "../questions/check-mailboxes.js";
import { loadSelection, type QuestionOptions, requireAnswers } from "../questions/dataset.js";
import { type Db, withStore } from "../store/open-store.js";
import { isUnanswerable, type Question, type TaskSet } from "../tasks/question.js";
import { withProseRules } from "../text/as-python.js";
import { count, counted } from "../text/format.js";

interface HarborOptions extends QuestionOptions {
  /** First part of the task names, `org/task`. */
  readonly org: string;
  /** Name of each task's prebuilt image, in which `{task}` represents the name of the task's folder. */
  readonly dockerImage?: string | undefined;
}

interface ExportedHarbor {
  /** Absolute path. */
  readonly folder: string;
  readonly tasks: number;
  /** Total number of emails in all mailboxes. */
  readonly mails: number;
  /** Ids of the tasks whose mailbox does not contain a gold email up to the task's date. */
  readonly withoutGoldMail: readonly string[];
}

type Files = Iterable<readonly [path: string, content: string | Uint8Array]>;

interface Source {
  readonly db: Db;
  readonly set: TaskSet;
  readonly options: HarborOptions;
  /** The program that scores an answer, the same for every task. */
  readonly graderCode: string;
}

/**
 * Writes questions as Harbor tasks (https://harborframework.com), one folder per task. The environment contains the
 * mailbox up to the question's date and a command to search it. Only the tests and the solution contain the gold
 * answer.
 * @throws UserError if the folder exists, or a mailbox has not been imported
 */
export async function exportHarbor(
  flag: string,
  path: string,
  options: HarborOptions,
  context: AppContext,
): Promise<ExportedHarbor> {
  const folder = resolve(path);
  checkNewFolder(flag, path);
  const { set, questions } = await loadSelection(options, context);
  requireAnswers(questions, "An export of Harbor tasks");
  return withStore(context.settings, async (db) => {
    checkMailboxes(db, questions);
    const source: Source = { db, set, options, graderCode: grader() };
    const progress = context.progress("Harbor tasks");
    const exported = { folder, tasks: questions.length, mails: 0, withoutGoldMail: [] as string[] };
    function* files(): Files {
      const digests: { name: string; digest: string }[] = [];
      for (const [i, question] of questions.entries()) {
        const id = folderName(question, set);
        const task = harborTask(question, id, source);
        exported.mails += task.mails;
        if (!task.hasGoldMail) exported.withoutGoldMail.push(id);
        for (const [file, content] of task.files) yield [`${id}/${file}`, content];
        digests.push({ name: `${options.org}/${id}`, digest: digestOf(task.files) });
        progress.update(i + 1, questions.length, `${count(i + 1)} of ${count(questions.length)}`);
      }
      yield ["dataset.toml", datasetToml(basename(folder), digests, options)];
      yield ["README.md", readme(basename(folder), set, questions.length, options)];
    }
    try {
      await writeFolderAtomically(flag, folder, files(), context.signal);
    } catch (error) {
      if (context.signal.aborted) throw new Interrupted(`Export interrupted. ${folder} was not written.`);
      throw error;
    } finally {
      progress.stop();
    }
    return exported;
  });
}

/** Returns a name like `test-00012`, so that the folders sort by id. */
function folderName({ id, split }: Question, set: TaskSet): string {
  return `${split ?? set.split}-${String(id).padStart(5, "0")}`;
}

function harborTask(question: Question, id: string, source: Source) {
  const lookup = openMailLookup(source.db);
  const mailbox = readMailbox(question, lookup, source.db);
  const gold = [...new Set(question.message_ids.flatMap((each) => [lookup.canonicalId(each), each]))];
  const answer = { answer: question.answer, sources: [...new Set(question.message_ids.map(lookup.canonicalId))] };
  const expected = { answer: question.answer, message_ids: gold, unanswerable: isUnanswerable(question) };
  const files: (readonly [string, string | Uint8Array])[] = [
    ["environment/Dockerfile", DOCKERFILE],
    ["environment/mail", template("mail.py")],
    ["environment/mailbox.jsonl.gz", gzipSync(mailbox.lines.join(""))],
    ["instruction.md", instruction(question)],
    ["solution/answer.json", json(answer)],
    ["solution/solve.sh", template("solve.sh")],
    ["task.toml", taskToml(question, id, source)],
    ["tests/expected.json", json(expected)],
    ["tests/grade.py", source.graderCode],
    ["tests/test.sh", template("test.sh")],
  ];
  const hasGoldMail = gold.length === 0 || gold.some((each) => mailbox.ids.has(each));
  return { files, mails: mailbox.ids.size, hasGoldMail };
}

const json = (value: unknown) => `${toWellFormedJson(value, 2)}\n`;

/** Returns a file of `export-harbor/`, which is the same in every task. */
function template(name: string): string {
  return readBuiltFile(`suites/export-harbor/${name}`);
}

/** Returns the program that scores an answer in a task's container, where art-e is not installed. */
export function grader(): string {
  return withProseRules(template("grade.py"));
}

const PAGE = 1_000;

/** Returns a mailbox up to the end of a day as JSON Lines, newest first, with only one Message-ID per email. */
function readMailbox({ inbox_address, query_date }: Question, lookup: MailLookup, db: Db) {
  const listing = openMailboxListing(db, inbox_address, endOfDay(query_date));
  const ids = new Set<string>();
  const lines: string[] = [];
  let cursor: number | null = null;
  for (;;) {
    const heads = listing.list(cursor, PAGE);
    for (const { messageId } of heads) {
      const mail = lookup.get(messageId);
      if (mail === null) continue;
      const { sender, to, cc, bcc, subject, date, body } = mail;
      lines.push(`${toWellFormedJson({ message_id: messageId, date, sender, to, cc, bcc, subject, body })}\n`);
      ids.add(messageId);
    }
    cursor = heads.at(-1)?.cursor ?? null;
    if (heads.length < PAGE) return { ids, lines };
  }
}

/**
 * Copies only single files, because some programs that read Dockerfiles support nothing else. The image has bash,
 * timeout, tar, gzip and find.
 */
const DOCKERFILE = `FROM python:3.12-slim
WORKDIR /app
COPY mail /usr/local/bin/mail
COPY mailbox.jsonl.gz /usr/local/share/mail/mailbox.jsonl.gz
`;

function instruction({ question, inbox_address, query_date }: Question): string {
  return `${question}

The owner of the mailbox ${inbox_address} asks this question. Today is ${query_date}, and the mailbox contains the mail up to today. Search it with the command \`mail\`, and read the emails that might contain the answer:

\`\`\`bash
mail search WORDS... [--from TEXT] [--to TEXT] [--after YYYY-MM-DD] [--before YYYY-MM-DD] [--limit N]
mail read MESSAGE_ID
\`\`\`

Then write the answer, in a few words, with the Message-IDs of the mails that hold it:

\`\`\`bash
mail answer "THE ANSWER" --source "MESSAGE_ID"
\`\`\`

This writes the file \`/app/answer.json\`, which you can also write yourself: \`{"answer": "THE ANSWER", "sources": ["MESSAGE_ID"]}\`. If the mailbox does not contain the answer, answer "I don't know". If the command \`mail\` does not exist, call \`python3 /usr/local/bin/mail\` instead.
`;
}

function taskToml(question: Question, id: string, { set, options }: Source): string {
  const { inbox_address, query_date, how_realistic, split } = question;
  return stringify({
    schema_version: "1.3",
    artifacts: ["/app/answer.json"],
    task: {
      name: `${options.org}/${id}`,
      description: "A question about the mail of one mailbox",
      authors: [],
      keywords: ["email", "search", "question-answering"],
    },
    metadata: {
      category: "email",
      tags: ["email", "search", "question-answering"],
      dataset: set.revision === null ? basename(set.source) : set.source,
      split: split ?? set.split,
      question_id: question.id,
      inbox_address,
      query_date,
      how_realistic,
      exported_by: `art-e ${programVersion()}`,
    },
    agent: { timeout_sec: 600 },
    verifier: { timeout_sec: 120 },
    environment: {
      build_timeout_sec: 600,
      ...(options.dockerImage === undefined ? {} : { docker_image: options.dockerImage.replaceAll("{task}", id) }),
      cpus: 1,
      memory_mb: 2048,
      storage_mb: 10_240,
      // Build the index here, so that the first search does not spend the agent's time on it.
      healthcheck: { command: "python3 /usr/local/bin/mail index", timeout_sec: 120, retries: 3 },
    },
  });
}

/** Computes a task's digest like Harbor: the SHA-256 of the files' paths and SHA-256 digests, sorted by path. */
function digestOf(files: Files): string {
  const lines = [...files].map(([path, content]) => `${path}\0${sha256Of(content)}\n`);
  return `sha256:${sha256Of(lines.sort().join(""))}`;
}

function datasetToml(name: string, tasks: readonly { name: string; digest: string }[], { org }: HarborOptions): string {
  const dataset = {
    name: `${org}/${name.replace(/[^\w.-]/g, "-").replace(/^[.-]+|\.(?=\.)/g, "") || "art-e"}`,
    description: "ART-E: questions about the mail of one mailbox, answered by searching it",
  };
  return stringify({ dataset, tasks });
}

function readme(name: string, { source }: TaskSet, tasks: number, { org }: HarborOptions): string {
  return `# ${name}

${counted(tasks, "question")} of ART-E as Harbor tasks, written by art-e ${programVersion()} from ${source}. Each task is a question from the owner of
a mailbox, asked on a certain date. The environment contains that mailbox up to that date and the command \`mail\`, which searches and reads it.

\`\`\`bash
harbor run -p . -a oracle                          # writes the gold answers: reward 1 on every task
harbor run -p . -a claude-code -m anthropic/MODEL
art-e run --suite . -a AGENT                       # without Harbor
\`\`\`

## Answer

\`/app/answer.json\`: \`{"answer": "TEXT", "sources": ["MESSAGE_ID"]}\`. \`/app/answer.txt\` and both names in \`/workdir\` work too. Plain text can
end with a line \`Sources: MESSAGE_ID, ...\`.

## Reward

\`tests/test.sh\` needs only Python's standard library, and no network. It writes \`/logs/verifier/reward.json\`, the same reward to \`reward.txt\`,
and its inputs to \`details.json\`.

| score | meaning |
| --- | --- |
| \`reward\` | 0.8 x answer + 0.2 x \`sources_precision\`; if the question has no gold email, only the answer score. 0 without an answer |
| answer | 1 for an exact match, otherwise the mean of \`semantic_score\`, \`number_match\` and \`date_match\`. "I don't know" scores 1 if the question cannot be answered; otherwise the reward is 0 |
| \`exact_match\` | 1 if equal to the gold answer except for case and white space |
| \`semantic_score\` | Jaccard similarity of the sets of words |
| \`number_match\`, \`date_match\` | 1 if the answer contains every number, or every date and time, of the gold answer; omitted if the gold answer has none |
| \`sources_correct\` | 1 if the sources include a gold email; omitted if the question has none |
| \`sources_precision\` | fraction of the sources that are gold emails |

## Images

The Dockerfiles only need \`python:3.12-slim\`. Some readers need prebuilt images. For these, export with
\`--docker-image REGISTRY/NAME:{task}\`, then

\`\`\`bash
for task in */task.toml; do
  task=\${task%/task.toml}
  docker build -t "REGISTRY/NAME:$task" "$task/environment" && docker push "REGISTRY/NAME:$task"
done
\`\`\`

The images contain the mail, and \`tests/\` and \`solution/\` contain the gold answers. Keep test questions out of training, and publish only mail that may be published.
To publish it as ${org}/NAME, see \`harbor publish --help\`.
`;
}
