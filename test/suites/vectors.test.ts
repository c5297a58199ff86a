import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../src/platform/json.js";
import { evaluateTask } from "../../src/suites/evaluate-task.js";
import { scoreLog } from "../../src/suites/flowbook/compare.js";
import { combineScores } from "../../src/suites/flowbook/notebooks.js";
import { FolderMachine } from "../../src/suites/folder-machine.js";
import { SPIDER2V_FUNCTIONS } from "../../src/suites/function-table.js";
import { CollectedFile } from "../../src/suites/grading-function.js";
import type { Grade, SuiteTask } from "../../src/tasks/suite-task.js";
import { needs, SUITES } from "../machine-requirements.js";
import { readSuiteLines } from "./suite-data.js";
import { temporaryFolder } from "./temporary-folder.js";

interface Vector {
  readonly id: string;
  readonly suite: "flowbook" | "spider2v";
  readonly func: string;
  readonly result: JsonValue;
  readonly expected: JsonValue;
  readonly options: JsonObject;
  readonly score: number | null;
  readonly note?: string;
}

const FILE_KINDS = ["text", "json", "file", "duckdb", "sqlite"];

/** Inputs with the score that the origin's own code gives them. */
const vectors = readSuiteLines<Vector>("oracle", "vectors", "vectors.jsonl");

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Writes a file that a vector describes; null where it describes none. */
async function writeInput(value: JsonValue, path: string): Promise<string | null> {
  const kind = isObject(value) ? FILE_KINDS.find((name) => name in value) : undefined;
  if (kind === undefined || !isObject(value)) return null;
  const input = value[kind] as JsonValue;
  if (kind === "text") writeFileSync(path, String(input));
  else if (kind === "json") writeFileSync(path, JSON.stringify(input));
  else if (kind === "file") copyFileSync(join(SUITES, "oracle", "vectors", "files", String(input)), path);
  else if (kind === "sqlite") {
    const database = new Database(path);
    for (const sql of input as string[]) database.exec(sql);
    database.close();
  } else {
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const instance = await DuckDBInstance.create(path);
    const connection = await instance.connect();
    for (const sql of input as string[]) await connection.run(sql);
    connection.closeSync();
    instance.closeSync();
  }
  return path;
}

const EXTENSIONS: Readonly<Record<string, string>> = { compare_table: "xlsx", compare_csv: "csv" };

async function scoreFlowbook(vector: Vector, folder: string): Promise<number | null> {
  const { func, result, expected, options } = vector;
  if (isObject(result) && "log" in result) return scoreLog(String(result.log), options.rules);
  if (isObject(result) && "sub_scores" in result)
    return combineScores(String(options.operator), result.sub_scores as number[]);
  const [task, machine, work] = ["task", "machine", "work"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(task);
  mkdirSync(join(machine, "home"), { recursive: true });
  await writeInput(result, join(machine, "home", "result"));
  const gold = await writeInput(expected, join(task, "gold"));
  const names = {
    compare_text_file: ["vm_result_file", "local_expected_file"],
    compare_jupyterlab_images: ["vm_result_image", "local_expected_image"],
  }[func] ?? ["vm_result", "local_expected"];
  const args = {
    ...options,
    [names[0] as string]: "/home/result",
    ...(gold === null ? { expected } : { [names[1] as string]: "gold" }),
  };
  const metric = { func, result: null, expected: null, options: args };
  const grade: Grade = await evaluateTask(
    {
      dialect: "flowbook",
      folder: task,
      evaluation: { postconfig: [], metrics: [metric], conjunction: "and" },
    } as unknown as SuiteTask,
    new FolderMachine(machine),
    { workFolder: work, suiteRoot: folder },
    new AbortController().signal,
  );
  return grade.score;
}

async function scoreSpider2v({ func, result, expected, options }: Vector, folder: string): Promise<number | null> {
  mkdirSync(join(folder, "gold"));
  const name = `file.${EXTENSIONS[func] ?? "txt"}`;
  const [own, other] = [
    await writeInput(result, join(folder, name)),
    await writeInput(expected, join(folder, "gold", name)),
  ];
  try {
    return await (SPIDER2V_FUNCTIONS[func]?.(
      own === null ? result : new CollectedFile(own),
      other === null ? (expected ?? undefined) : new CollectedFile(other),
      options,
    ) ?? null);
  } catch {
    return null;
  }
}

describe("the evaluation functions against scores of the origin's own code", needs("suites"), () => {
  it.for(vectors)("$suite $func $id $note", async (vector) => {
    const folder = temporaryFolder();
    const score = await (vector.suite === "flowbook" ? scoreFlowbook : scoreSpider2v)(vector, folder);
    if (vector.score === null) expect(score).toBeNull();
    else expect(score).toBeCloseTo(vector.score, 9);
  });

  it("there are hundreds", () => expect(vectors.length).toBeGreaterThan(300));
});
