import { describe, it } from "vitest";
import { KNOWN_BAD_IDS } from "../../../src/questions/dataset.js";
import type { Question } from "../../../src/tasks/question.js";
import { sendFile, sendJson, startHub } from "../../platform/hub-server.js";
import { parquetOf } from "../../questions/question-rows.js";
import { demoQuestions, MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";

const { artE, readJson } = workFolder({ mail: MAIL });

const REVISION = "0123456789abcdef0123456789abcdef01234567";

let runs = 0;

/** The ids of the questions that a run with these flags answers, in the order of the results file. */
async function answered(flags: string, variables = {}): Promise<number[]> {
  const file = `results-${++runs}.json`;
  const { code, stderr } = await artE(`run -a baseline ${flags} -o ${file} --quiet`, variables);
  if (code !== 0) throw new Error(stderr);
  return readJson(file).taskResults.map((task: { taskId: number }) => task.taskId);
}

const idsOf = (questions: readonly Question[]) => questions.map((question) => question.id).sort((a, b) => a - b);
const FILE = `--dataset ${QUESTIONS}`;

describe("run answers only", () => {
  it.concurrent("the first --limit questions", async ({ expect }) => {
    expect(await answered(`${FILE} -l 3`)).toEqual(idsOf(demoQuestions.slice(0, 3)));
  });

  it.concurrent("those of --ids, in whatever order they are named", async ({ expect }) => {
    expect(await answered(`${FILE} --ids 40,7,12`)).toEqual([7, 12, 40]);
  });

  it.concurrent("those of --inbox, however it is written", async ({ expect }) => {
    const own = demoQuestions.filter((question) => question.inbox_address === MARCUS);
    expect(await answered(`${FILE} --inbox ${MARCUS.toUpperCase()} -l 0`)).toEqual(idsOf(own));
  });

  it.concurrent("those at least as realistic as --min-realism", async ({ expect }) => {
    const realistic = demoQuestions.filter((question) => question.how_realistic >= 0.9);
    expect(realistic.length).toBeLessThan(demoQuestions.length);
    expect(await answered(`${FILE} --min-realism 0.9 -l 0`)).toEqual(idsOf(realistic));
  });

  it.concurrent("those with at most --max-sources gold mails", async ({ expect }) => {
    const few = demoQuestions.filter((question) => question.message_ids.length <= 1);
    expect(few.length).toBeLessThan(demoQuestions.length);
    expect(await answered(`${FILE} --max-sources 1 -l 0`)).toEqual(idsOf(few));
  });

  it.concurrent("some at random with --shuffle, the same for the same --seed", async ({ expect }) => {
    const [first, again] = await Promise.all([7, 7].map((seed) => answered(`${FILE} --shuffle --seed ${seed} -l 8`)));
    expect(first).toHaveLength(8);
    expect(again).toEqual(first);
    expect(first).not.toEqual(idsOf(demoQuestions.slice(0, 8)));
  });
});

describe("run takes the questions from the hub of HF_ENDPOINT", () => {
  it.concurrent("as a Parquet file of one revision, without those known to be bad", async ({ expect }) => {
    const rows = demoQuestions.map((question) => ({ ...question, message_ids: [...question.message_ids] }));
    const bytes = parquetOf(rows);
    await using hub = await startHub((request, response) => {
      const known = `/datasets/corbt/enron_emails_sample_questions/resolve/${REVISION}/data/train-00000-of-00001.parquet`;
      if (request.url === known) sendFile(request, response, bytes);
      else response.writeHead(404).end();
    });
    const flags = `-s train --revision ${REVISION} --exclude-known-bad --min-realism 0.8 -l 0`;
    const good = demoQuestions.filter(({ id, how_realistic }) => !KNOWN_BAD_IDS.has(id) && how_realistic >= 0.8);
    expect(await answered(flags, { HF_ENDPOINT: hub.endpoint })).toEqual(idsOf(good));
  });

  it.concurrent("at a fixed revision where none is named, of which the size is known", async ({ expect }) => {
    const pinned = "abc84674cefc28ca4bf2cd3f0f0c9c860d690d70";
    const known = `/datasets/corbt/enron_emails_sample_questions/resolve/${pinned}/data/test-00000-of-00001.parquet`;
    const rows = demoQuestions.slice(0, 3).map((question) => ({ ...question, message_ids: [...question.message_ids] }));
    const asked: (string | undefined)[] = [];
    await using hub = await startHub((request, response) => {
      asked.push(request.url);
      sendFile(request, response, parquetOf(rows));
    });
    const { code, stderr } = await artE("run -a baseline --cache-dir pinned-cache", { HF_ENDPOINT: hub.endpoint });
    expect(new Set(asked)).toEqual(new Set([known]));
    expect(code).toBe(1);
    expect(stderr).toMatch(/the file has \d+ bytes, not 267520/);
  });

  it.concurrent("as rows of JSON with --use-json", async ({ expect }) => {
    await using hub = await startHub((_, response) =>
      sendJson(response, {
        rows: demoQuestions.slice(0, 4).map((row, i) => ({ row_idx: i, row, truncated_cells: [] })),
        num_rows_total: 4,
      }),
    );
    const variables = { HF_ROWS_ENDPOINT: hub.endpoint };
    expect(await answered("--use-json --cache-dir rows-cache", variables)).toEqual(idsOf(demoQuestions.slice(0, 4)));
  });
});
