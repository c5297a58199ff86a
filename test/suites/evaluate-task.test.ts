import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../src/platform/json.js";
import type { TaskMachine } from "../../src/sandbox/task-machine.js";
import { scoreLog } from "../../src/suites/functions/flowbook-files.js";
import { combineScores } from "../../src/suites/functions/flowbook-notebooks.js";
import { evaluationNeed, isImplemented, SPIDER2V_FUNCTIONS } from "../../src/suites/functions/function-table.js";
import { CollectedFile } from "../../src/suites/functions/grading-function.js";
import { formatTime } from "../../src/suites/functions/result-getters.js";
import { evaluateTask } from "../../src/suites/grading/evaluate-task.js";
import { FolderMachine } from "../../src/suites/machines/folder-machine.js";
import type { FunctionCall, Grade, Metric, SuiteTask, TaskEvaluation } from "../../src/tasks/suite-task.js";
import { jsonLines } from "../cli/art-e.js";
import { isMissing, needs, SUITES } from "../machine-requirements.js";
import { RunningMachine } from "./running-machine.js";
import { temporaryFolder, writeFiles } from "./temporary-folder.js";
import { writeDatabase } from "./write-database.js";

type Files = Readonly<Record<string, string>>;

const call = (func: string, args: JsonObject = {}): FunctionCall => ({ func, arguments: args });
const vmFile = (path: string, more: JsonObject = {}) => call("vm_file", { path, dest: "result", ...more });
const gold = (path: string) => call("local_file", { path: `suite/${path}`, dest: "gold" });
const rule = (rules: JsonObject | JsonObject[string]) => call("rule", { rules });

interface Setting {
  readonly dialect?: SuiteTask["dialect"];
  readonly machine?: Files;
  readonly suite?: Files;
  readonly tags?: readonly string[];
  readonly runs?: boolean;
  readonly signal?: AbortSignal;
}

async function evaluate(evaluation: Partial<TaskEvaluation> | null, setting: Setting = {}) {
  const folder = temporaryFolder();
  for (const name of ["root", "suite"]) mkdirSync(join(folder, name));
  writeFiles(join(folder, "root"), setting.machine ?? {});
  writeFiles(join(folder, "suite"), setting.suite ?? {});
  const machine: TaskMachine = new (setting.runs ? RunningMachine : FolderMachine)(join(folder, "root"));
  const task = {
    dialect: setting.dialect ?? "spider2v",
    folder: join(folder, "suite"),
    tags: setting.tags ?? [],
    evaluation: evaluation && { postconfig: [], metrics: [], conjunction: "and", ...evaluation },
  } as unknown as SuiteTask;
  const options = { workFolder: join(folder, "work"), suiteRoot: folder, timeScale: 0 };
  const grade = await evaluateTask(task, machine, options, setting.signal ?? new AbortController().signal);
  return { ...grade, commands: machine instanceof RunningMachine ? machine.commands : [] };
}

const flowbook = (func: string, options: JsonObject) => ({
  metrics: [{ func, result: null, expected: null, options }],
});

const metric = (func: string, result: FunctionCall | null, expected: FunctionCall | null, options = {}): Metric => ({
  func,
  result,
  expected,
  options,
});

const text = (path: string, goldName: string) => metric("compare_text_file", vmFile(path), gold(goldName));

describe("evaluateTask on a Flowbook task", () => {
  const evaluation = flowbook("compare_csv", { local_expected: "gold.csv", vm_result: "/home/result.csv" });
  const ofFlowbook = (machine: Files, suite: Files): Setting => ({ dialect: "flowbook", machine, suite });

  it("scores a correct result 1 and a wrong one 0", async () => {
    const suite = { "gold.csv": "a,b\n1,x\n" };
    const right = await evaluate(evaluation, ofFlowbook({ "home/result.csv": "b,a\nx,01\n" }, suite));
    expect(right).toMatchObject({ score: 1, state: "success", reason: "" });
    const wrong = await evaluate(evaluation, ofFlowbook({ "home/result.csv": "b,a\nx,2\n" }, suite));
    expect(wrong).toMatchObject({ score: 0, state: "success", reason: "compare_csv returned 0" });
  });

  it("scores 0 if the function fails in any way, and gives the reason", async () => {
    const [result, suite] = [{ "home/result.csv": "a\n1\n" }, { "gold.csv": "a\n1\n" }];
    expect(await evaluate(evaluation, ofFlowbook({}, suite))).toMatchObject({
      score: 0,
      state: "success",
      reason: "compare_csv: /home/result.csv is not in the machine",
    });
    expect((await evaluate(evaluation, ofFlowbook(result, {}))).reason).toContain("gold.csv is missing");
    expect((await evaluate(flowbook("compare_csv", {}), ofFlowbook(result, suite))).reason).toContain("arguments");
    const outside = flowbook("compare_csv", { local_expected: "../other", vm_result: "/home/result.csv" });
    expect((await evaluate(outside, ofFlowbook(result, suite))).reason).toContain("leaves the suite");
  });

  it("treats options as an error if the comparison has none", async () => {
    const notebook = JSON.stringify({ cells: [], metadata: {}, nbformat: 4, nbformat_minor: 5 });
    const args = { local_expected: "gold.ipynb", vm_result: "/home/a.ipynb" };
    const setting = ofFlowbook({ "home/a.ipynb": notebook }, { "gold.ipynb": notebook });
    expect((await evaluate(flowbook("compare_notebook_outputs", args), setting)).score).toBe(1);
    expect((await evaluate(flowbook("compare_notebook_outputs", { ...args, x: 1 }), setting)).score).toBe(0);
    expect((await evaluate(flowbook("compare_notebook_cells", { ...args, x: 1 }), setting)).score).toBe(1);
  });

  it("does not grade if the function is unknown", async () => {
    expect(await evaluate(flowbook("compare_dreams", {}), { dialect: "flowbook" })).toMatchObject({
      score: null,
      state: "unsupported",
    });
  });

  it("runs a script, and reads its log", async () => {
    const args = { eval_script: "eval.sh", vm_eval_logs: "/home/user/eval.log" };
    const logs = (rules: JsonObject) => flowbook("compare_script_logs", { ...args, rules });
    const suite = { "eval.sh": '#!/bin/bash\necho "python3 ok" > $ROOT/home/user/eval.log\n' };
    const setting: Setting = { dialect: "flowbook", suite, runs: true };
    expect((await evaluate(logs({ include: ["ok"], exclude: ["lab"] }), setting)).score).toBe(1);
    expect((await evaluate(logs({ include: ["ok"], exclude: ["python3"] }), setting)).score).toBe(0);
    expect((await evaluate(logs({}), setting)).score).toBe(0);
    const failing = (script: string) => ({ ...setting, suite: { "eval.sh": `#!/bin/bash\n${script}\nexit 3\n` } });
    const reason = async (script: string) => (await evaluate(logs({ include: [] }), failing(script))).reason;
    expect(await reason("")).toContain("eval.sh ended with exit code 3");
    expect(await reason("echo no kernel >&2")).toContain("eval.sh ended with exit code 3: no kernel");
    expect(await reason("echo no jupyter > $ROOT/home/user/eval.log")).toContain("exit code 3: no jupyter");
    expect(await evaluate(logs({ include: [] }), { ...setting, suite: {} })).toMatchObject({
      state: "missing_files",
      reason: "the script eval.sh is missing from the task's folder",
    });
    expect(await evaluate(logs({ include: [] }), { ...setting, runs: false })).toMatchObject({ state: "unsupported" });
  });
});

describe("evaluateTask on a Spider2-V task", () => {
  const machine = { "home/a": "a\n", "home/half": "a\nc\n" };
  const suite = { a: "a\n", ab: "a\nb\n" };
  const [right, wrong, half] = [
    text("/home/a", "a"),
    text("/home/a", "ab"),
    metric("diff_text_file", vmFile("/home/half"), gold("ab")),
  ];

  it.each<[string, TaskEvaluation["conjunction"], Metric[], number]>([
    ["scores one metric", "and", [right], 1],
    ["scores a fraction", "and", [half], 0.5],
    ["scores `and` as the mean", "and", [right, half], 0.75],
    [
      "scores `and` as 0 at the first zero, and does not evaluate the rest",
      "and",
      [wrong, metric("compare_sql", null, null)],
      0,
    ],
    [
      "scores `or` as 1 at the first 1, and does not evaluate the rest",
      "or",
      [wrong, right, metric("compare_sql", null, null)],
      1,
    ],
    ["scores `or` as the maximum", "or", [wrong, half], 0.5],
  ])("combines the results of several functions (%s)", async (_, conjunction, metrics, score) => {
    expect(await evaluate({ conjunction, metrics }, { machine, suite })).toMatchObject({ score, state: "success" });
  });

  it("returns no score if a function raises an error or a gold file is missing", async () => {
    const missing = text("/home/a", "none");
    expect(await evaluate({ metrics: [missing] }, { machine, suite })).toMatchObject({
      score: null,
      state: "missing_files",
      reason: "the gold file suite/none is missing from the suite",
    });
    const json = metric("compare_json_file", vmFile("/home/none"), gold("a"));
    expect(await evaluate({ metrics: [json] }, { machine, suite })).toMatchObject({ score: null, state: "eval_error" });
    const link = text("/home/a", "../../x");
    expect((await evaluate({ metrics: [link] }, { machine, suite })).reason).toContain("leaves the suite");
  });

  it("compares the gold file with itself if both have the same name and the result exists", async () => {
    const same = (path: string) => metric("compare_text_file", vmFile(path, { dest: "gold" }), gold("ab"));
    expect((await evaluate({ metrics: [same("/home/a")] }, { machine, suite })).score).toBe(1);
    expect((await evaluate({ metrics: [same("/home/none")] }, { machine, suite })).score).toBe(0);
  });

  it("selects the file that `gives` specifies from several", async () => {
    const several = { multi: true, path: ["/home/half", "/home/a"], dest: ["x", "y"], gives: [1] };
    const metrics = [metric("compare_text_file", call("vm_file", several), gold("a"))];
    expect((await evaluate({ metrics }, { machine, suite })).score).toBe(1);
    const escaping = { ...several, dest: ["x", "../y"] };
    const refused = await evaluate(
      { metrics: [metric("compare_text_file", call("vm_file", escaping), gold("a"))] },
      { machine, suite },
    );
    expect(refused).toMatchObject({ state: "eval_error" });
  });

  it("inserts the day into a file name", async () => {
    const day = formatTime(new Date(), "%Y-%m-%d");
    const metrics = [
      metric(
        "compare_text_file",
        call("vm_file", { path: "/home/log.txt", dest: "log.txt", time_suffix: true, time_format: "%Y-%m-%d" }),
        gold("a"),
      ),
    ];
    const dated = { machine: { [`home/log${day}.txt`]: "a\n" }, suite };
    expect((await evaluate({ metrics }, dated)).score).toBe(1);
  });

  it("finds the first profiles.yml of dbt", async () => {
    const profiles = call("dbt_profiles", {
      dirs: ["/home/none", "$DBT_PROFILES_DIR", "/home/dbt"],
      dest: "profiles.yml",
    });
    const metrics = [metric("check_yaml_file", profiles, rule([["match", ["dev", ["name", "x"], "n"], 3]]))];
    const files = { "home/dbt/profiles.yml": "dev:\n- name: y\n- {name: x, n: 3}\n" };
    expect((await evaluate({ metrics }, { machine: files })).score).toBe(1);
    expect((await evaluate({ metrics }, { machine: files, runs: true })).score).toBe(1);
    expect((await evaluate({ metrics })).score).toBe(0);
  });

  it("reports missing requirements", async () => {
    const include = rule({ include: ["ok"] });
    const table = metric("compare_csv", call("snowflake_table_to_csv"), gold("a"));
    expect(await evaluate({ metrics: [table] })).toMatchObject({ score: null, state: "needs_account" });
    const script = metric(
      "check_include_exclude",
      call("vm_script_output", { src: "suite/e.sh", dest: "/home/e.sh" }),
      include,
    );
    expect(await evaluate({ metrics: [script] }, { tags: ["account"] })).toMatchObject({ state: "needs_account" });
    expect((await evaluate({ metrics: [script] })).reason).toContain("suite/e.sh is missing");
    expect(await evaluate({ metrics: [script] }, { suite: { "e.sh": "" } })).toMatchObject({ state: "unsupported" });
    expect((await evaluate({ metrics: [metric("compare_dreams", null, null)] })).reason).toContain("compare_dreams");
    expect((await evaluate({ metrics: [metric("compare_csv", call("dream"), null)] })).reason).toContain(
      "getter dream",
    );
    const screen = metric("check_include_exclude", call("active_tab_info"), include);
    expect((await evaluate({ metrics: [screen] })).reason).toContain("needs a screen");
    expect(await evaluate(null)).toMatchObject({ score: null, state: "unsupported" });
  });

  it("uses the output of a script and of a command", async () => {
    const outputs = (result: FunctionCall) => [metric("exact_match", result, rule({ expected: "ok\n" }))];
    const setting: Setting = { suite: { "e.sh": "echo ok; echo not >&2; exit 4" }, runs: true };
    const script = call("vm_script_output", { src: "suite/e.sh", dest: "/home/e.sh" });
    expect((await evaluate({ metrics: outputs(script) }, setting)).score).toBe(1);
    expect((await evaluate({ metrics: outputs(call("vm_command_line", { command: "echo ok" })) }, setting)).score).toBe(
      1,
    );
    const shell = call("vm_command_line", { command: "true && echo ok", shell: true });
    expect((await evaluate({ metrics: outputs(shell) }, setting)).score).toBe(1);
    const failing = call("vm_command_error", { command: ["/bin/sh", "-c", "echo ok >&2"] });
    expect((await evaluate({ metrics: outputs(failing) }, setting)).score).toBe(1);
  });

  it.each([
    ["exits with an error", "echo no; echo no kernel >&2; exit 3", "eval.sh ended with exit code 3: no kernel"],
    ["calls a missing program", "dream 1\necho no", "dream: command not found"],
  ])("explains a score below 1 if the script %s", async (_, script, said) => {
    const getter = call("vm_script_output", { src: "suite/eval.sh", dest: "/home/eval.sh" });
    const metrics = [metric("check_include_exclude", getter, call("rule", { rules: { include: ["ok"] } }))];
    const { score, reason } = await evaluate({ metrics }, { suite: { "eval.sh": script }, runs: true });
    expect({ score, reason }).toEqual({ score: 0, reason: expect.stringContaining(said) });
    expect(reason).toContain("check_include_exclude returned 0; ");
  });
});

it.each([
  ["rule", "the rule has no rules"],
  ["list", "the list is missing"],
])("evaluateTask reports that a %s has no contents", async (func, said) => {
  const metrics = [metric("exact_match", vmFile("/home/a"), call(func))];
  const { state, reason } = await evaluate({ metrics }, { machine: { "home/a": "a" } });
  expect({ state, reason }).toEqual({ state: "eval_error", reason: expect.stringContaining(said) });
});

describe("steps before grading", () => {
  const postconfig = [
    call("sleep", { seconds: 60 }),
    call("activate_window", { window_name: "x" }),
    call("execute", { command: ["python", "-c", "import pyautogui; pyautogui.hotkey('ctrl', 's')"] }),
    call("copyfile_from_host_to_guest", { src: "suite/ab", dest: "/home/result" }),
    call("execute", { command: "cp /home/result /home/copy" }),
    call("script_and_execute", { src: "suite/wait.sh", dest: "/home/wait.sh" }),
    call("execute", { command: ["cat", "/home/copy"], until: { stdout: "b" } }),
    call("dream"),
  ];
  const suite = { ab: "a\nb\n", "wait.sh": "echo waited > $ROOT/home/waited" };

  it("runs the supported actions, and requires no screen", async () => {
    const metrics = [text("/home/copy", "ab"), metric("compare_csv", vmFile("/home/waited"), gold("waited"))];
    const grade = await evaluate({ postconfig, metrics }, { suite: { ...suite, waited: "waited\n" }, runs: true });
    expect(grade.score).toBe(1);
    expect(grade.commands).toEqual([
      "cp /home/result /home/copy",
      "chmod a+x /home/wait.sh",
      "/bin/bash /home/wait.sh",
      "rm -f /home/wait.sh",
      "cat /home/copy",
    ]);
  });

  it("skips the other actions if the machine is a folder, and reports them if the score is not 1", async () => {
    const grade = await evaluate({ postconfig, metrics: [text("/home/copy", "ab")] }, { suite });
    expect(grade).toMatchObject({ score: 0, state: "success" });
    for (const note of ["execute needs a screen", "execute needs a machine", "dream is unknown"]) {
      expect(grade.reason).toContain(note);
    }
    expect((await evaluate({ postconfig, metrics: [text("/home/result", "ab")] }, { suite })).score).toBe(1);
  });

  it("continues after a failed command, and reports it if the score is not 1", async () => {
    const failing = [call("execute", { command: ["sh", "-c", "echo broken; exit 4"] }), ...postconfig.slice(3, 4)];
    const setting: Setting = { suite: { ab: "a\nb\n", other: "x\n" }, runs: true };
    const metrics = (gold: string) => [text("/home/result", gold)];
    expect(await evaluate({ postconfig: failing, metrics: metrics("ab") }, setting)).toMatchObject({ score: 1 });
    const { score, reason } = await evaluate({ postconfig: failing, metrics: metrics("other") }, setting);
    expect(score).not.toBe(1);
    expect(reason).toContain("before grading: execute sh -c echo broken; exit 4 ended with exit code 4: broken");
  });

  it("stops when it is aborted", async () => {
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(evaluate({ postconfig, metrics: [text("/home/a", "ab")] }, { suite, signal })).rejects.toThrow();
  });
});

describe("evaluationNeed", () => {
  it("returns the requirements of each function, and says which are unsupported", () => {
    expect(evaluationNeed("flowbook", "evaluation", "compare_script_logs")).toBe("script");
    expect(evaluationNeed("flowbook", "evaluation", "email_answer")).toBe("mailbox");
    expect(evaluationNeed("spider2v", "evaluation", "compare_table")).toBe("files");
    expect(evaluationNeed("spider2v", "getter", "vm_script_output")).toBe("script");
    expect(evaluationNeed("spider2v", "getter", "bigquery_datasets")).toBe("account");
    expect(evaluationNeed("spider2v", "getter", "metabase_question_sql")).toBe("server");
    expect(evaluationNeed("flowbook", "getter", "vm_file")).toBeNull();
    expect(evaluationNeed("spider2v", "evaluation", "constructor")).toBeNull();
    expect(isImplemented("spider2v", "getter", "vm_file")).toBe(true);
    expect(isImplemented("spider2v", "getter", "cache_file")).toBe(false);
  });
});

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

const FILE_KINDS = ["text", "json", "file", "duckdb", "sqlite"] as const;
/** Inputs with their scores from the original suite's own code. */
const vectors: Vector[] = isMissing("suites")
  ? []
  : jsonLines(readFileSync(join(SUITES, "oracle/vectors/vectors.jsonl"), "utf8"));

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Writes the file of a vector, or returns null if it has none. */
async function writeInput(value: JsonValue, path: string): Promise<string | null> {
  const kind = isObject(value) ? FILE_KINDS.find((name) => name in value) : undefined;
  if (kind === undefined || !isObject(value)) return null;
  const input = value[kind] as JsonValue;
  if (kind === "text") writeFileSync(path, String(input));
  else if (kind === "json") writeFileSync(path, JSON.stringify(input));
  else if (kind === "file") copyFileSync(join(SUITES, "oracle", "vectors", "files", String(input)), path);
  else await writeDatabase(path, kind, input as string[]);
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

describe("evaluation functions", needs("suites"), () => {
  it.for(vectors)("return the original suites' scores for $suite $func $id $note", async (vector) => {
    const folder = temporaryFolder();
    const score = await (vector.suite === "flowbook" ? scoreFlowbook : scoreSpider2v)(vector, folder);
    if (vector.score === null) expect(score).toBeNull();
    else expect(score).toBeCloseTo(vector.score, 9);
  });

  it("return the original suites' scores for hundreds of cases", () => expect(vectors.length).toBeGreaterThan(300));
});
