// Exports questions as a task suite in art-e's own format.
import { createHash } from "node:crypto";
import { basename, resolve } from "node:path";
import type { AppContext } from "../platform/app-context.js";
import { checkNewFolder, writeFolderAtomically } from "../platform/files.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import { loadSelection, type QuestionOptions, requireAnswers } from "../questions/dataset.js";
import type { Question, TaskSet } from "../tasks/question.js";
import { similarity } from "../text/word-overlap.js";
import { ATTACH_INBOX, EMAIL_ANSWER } from "./email-task.js";
import { OWN_ORACLE } from "./oracle.js";
import type { TaskFile } from "./task/task-file.js";

/** Folder of the tasks in `examples/`. */
const TOOL = "email";
const INDEX = "test_all.json";

/**
 * Writes questions as a suite: one folder per question, an index in the questions' order, and an oracle file with the
 * gold answers.
 */
export async function exportArtE(
  flag: string,
  path: string,
  options: QuestionOptions,
  context: AppContext,
): Promise<{ readonly folder: string; readonly tasks: number }> {
  const folder = resolve(path);
  checkNewFolder(flag, path);
  const { set, questions } = await loadSelection(options, context);
  requireAnswers(questions, "An export of questions as a suite");
  const exported = questions.map((question) => ({ question, id: taskIdOf(question, set) }));
  const oracle = exported.map(({ question, id }) => oracleLine(question, id, basename(folder)));
  const files = new Map([
    ...exported.map(({ question, id }) => {
      const task = taskFile(question, id, set);
      return [`examples/${TOOL}/${id}/${id}.json`, `${toWellFormedJson(task, 2)}\n`] as const;
    }),
    [INDEX, `${JSON.stringify({ [TOOL]: exported.map(({ id }) => id) }, null, 2)}\n`],
    [OWN_ORACLE, oracle.map((line) => `${toWellFormedJson(line)}\n`).join("")],
  ]);
  await writeFolderAtomically(flag, folder, files);
  return { folder, tasks: questions.length };
}

function taskFile(question: Question, id: string, { source, revision }: TaskSet): TaskFile {
  const { inbox_address, query_date, answer, message_ids, how_realistic } = question;
  return {
    id,
    // Never opened, because the task needs no machine.
    snapshot: "base",
    instruction: question.question,
    source: [revision === null ? basename(source) : source],
    related_apps: ["email"],
    tags: [],
    config: [{ func: ATTACH_INBOX, arguments: { inbox_address, query_date } }],
    evaluation: { func: EMAIL_ANSWER, arguments: { question_id: question.id, answer, message_ids, how_realistic } },
  };
}

function oracleLine({ answer, message_ids }: Question, uuid: string, suite: string) {
  return {
    suite,
    tool: TOOL,
    uuid,
    state: "gold",
    answer,
    sources: message_ids,
    // 0 if the gold answer contains no words.
    expected_score: similarity(answer, answer),
  };
}

/** Namespace of the generated UUIDs. */
const NAMESPACE = "6ba1c2f4-6f0e-5c0b-9d55-0f6a3f2d7e81";

/**
 * Returns a version 5 UUID (https://www.rfc-editor.org/rfc/rfc9562#section-5.5) based on the question's dataset, split
 * and id. It is the same in every export.
 */
function taskIdOf({ id, split }: Question, set: TaskSet): string {
  const hash = createHash("sha1").update(Buffer.from(NAMESPACE.replaceAll("-", ""), "hex"));
  const bytes = hash
    .update(`${set.sha256}/${split ?? set.split}/${id}`)
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
