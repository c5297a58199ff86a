import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { needs, SUITES, slow } from "../../machine-requirements.js";
import { startFakeProvider } from "../../providers/fake-provider.js";
import { leftInSandboxes } from "../../sandbox/host-witness.js";
import { processesWith } from "../../sandbox/machines.js";
import { machinesStart } from "../../suites/machines-start.js";
import { hasNotebooks, PACKAGES, startSandboxed } from "../../tools/machines.js";
import { workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";
import { providerVariables, python, type ScriptedCall, shell } from "./scripted-agent.js";

/**
 * Real tasks, done with the tools by a scripted agent in sandboxes, some of them wrong. The program is killed in the
 * middle and resumed. The data does not include the tasks' own scripts, so stand-ins follow the tasks'
 * instructions.
 */

const { artE, start, path, readJson } = workFolder();

const JUPYTER = join(SUITES, "flowbook/examples/jupyter");
const DESKTOP = "/home/user/Desktop";
const KERNELS = "$HOME/.local/share/jupyter/kernels";
const WORD = `5${process.pid}.5`;

interface Real {
  readonly calls: (folder: string) => readonly ScriptedCall[];
  readonly score: 0 | 1;
  readonly init?: string;
  readonly eval?: string;
}

/** Writes a file from the task's folder like an agent that has solved the task. */
function place(name: string, to: string): (folder: string) => readonly ScriptedCall[] {
  return (folder) => {
    const content = readFileSync(join(folder, name)).toString("base64");
    return [python(`import base64\nopen("${DESKTOP}/${to}", "wb").write(base64.b64decode("${content}"))`)];
  };
}

const always =
  (...calls: ScriptedCall[]) =>
  () =>
    calls;

const SELECT = `
import csv
rows = [row for row in csv.DictReader(open("Desktop/products.csv", newline="")) if row["model_year"] == "2019"]
mean = sum(float(row["list_price"]) for row in rows) / len(rows)
with open("Desktop/result.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows(row for row in rows if float(row["list_price"]) > mean)`;

const CLEAR = `
import json
path = "Desktop/linear_regression.ipynb"
notebook = json.load(open(path, encoding="utf-8"))
for cell in notebook["cells"]:
    if cell["cell_type"] == "code":
        cell["outputs"], cell["execution_count"] = [], None
json.dump(notebook, open(path, "w", encoding="utf-8"), indent=1)`;

const SPORTS = `
import json
cells = [{"cell_type": "code", "id": str(i), "metadata": {}, "outputs": [], "execution_count": None, "source": f"print({i})"} for i in range(3)]
json.dump({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, open("Desktop/sports-products.ipynb", "w"))`;

const KERNEL_SCRIPTS = {
  init: `mkdir -p ${KERNELS}/python3 ${KERNELS}/jupyter-kernel`,
  eval: `ls ${KERNELS} | tee /home/user/eval.log`,
};
const PORT_SCRIPTS = {
  eval: "if (exec 3<>/dev/tcp/127.0.0.1/1036) 2>/dev/null; then echo SUCCESS; else echo FAILURE; fi > ~/eval.log",
};

const TASKS: Readonly<Record<string, Real>> = {
  "a4773fa9-c715-4293-8774-e99caa9d8e7c": { calls: always(python(SELECT)), score: 1 },
  "00b43a0a-b17b-475d-a482-302efe94d4cc": { calls: place("gold.csv", "allGames.csv"), score: 1 },
  "575a50fd-5608-4d68-897f-256478a2d0f1": { calls: always(python(CLEAR)), score: 1 },
  "040af931-8371-4765-9908-2a36ff4e4518": {
    calls: place("logistic_regression_gold.ipynb", "logistic_regression.ipynb"),
    score: 1,
  },
  "1fe7d03d-d0d5-465b-987d-4583af499387": { calls: place("AdaBoost_gold.ipynb", "AdaBoost.ipynb"), score: 1 },
  "8ecc0ac2-3083-4be0-ace9-43079288d717": {
    calls: always(python(SPORTS), { name: "run_notebook", arguments: { path: "Desktop/sports-products.ipynb" } }),
    score: 1,
  },
  "224009fd-5d6b-460e-9dbc-abdb2e9d6676": { calls: place("code_content_gold.txt", "code_content.txt"), score: 1 },
  "279a4290-d744-4cc1-a576-bc4f7b9fcee9": { calls: place("gold.png", "result.png"), score: 1 },
  "2ed53418-f813-479f-b8a0-134bfebec393": {
    calls: always(shell(`rm -r ${KERNELS}/jupyter-kernel`)),
    score: 1,
    ...KERNEL_SCRIPTS,
  },
  "e85047db-a5c5-4153-a6cb-4c272b11411c": {
    calls: always(shell("(setsid python3 -m http.server --bind 127.0.0.1 1036 >/dev/null 2>&1 &); sleep 2")),
    score: 1,
    ...PORT_SCRIPTS,
  },
  "b09a0441-20b3-45f1-966a-4d521e46c7ea": { calls: always(shell("echo wrong > Desktop/result.csv")), score: 0 },
  "e316bdce-f76f-4a08-8239-865e55483396": { calls: always(shell("ls Desktop")), score: 0 },
  "eb4a5674-5bab-40f4-a128-c39520b78646": { calls: always(shell("echo no > Desktop/code_content.txt")), score: 0 },
  "b5bed2ba-186a-4603-8705-083ad308c8c1": { calls: place("notebook.ipynb", "result.png"), score: 0 },
  "c0e9c1bc-ee78-446c-bba4-e5407c4372cb": {
    calls: always(shell("echo python3 > ~/eval.log")),
    score: 0,
    ...KERNEL_SCRIPTS,
  },
};

/** A table, an edited notebook, a picture, a folder and a server done right, and a table and a folder done wrong. */
const FEW = /^(a4773fa9|575a50fd|279a4290|2ed53418|e85047db|b09a0441|c0e9c1bc)/;

type Tasks = [id: string, task: Real][];

/** The tasks with scripts, and a machine with their programs. Returns the tool calls per instruction. */
function copySuite(root: string, tasks: Tasks): Map<string, readonly ScriptedCall[]> {
  const calls = new Map<string, readonly ScriptedCall[]>();
  for (const [id, task] of tasks) {
    const folder = join(root, "examples/jupyter", id);
    cpSync(join(JUPYTER, id), folder, { recursive: true });
    chmodSync(folder, 0o755);
    const files = { "init.sh": task.init ?? "true", "eval.sh": task.eval ?? "true", "sports.zip": "", "script.py": "" };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const { instruction } = JSON.parse(readFileSync(join(folder, `${id}.json`), "utf8"));
    calls.set(instruction, [shell(`(setsid sleep ${WORD} &)`), ...task.calls(folder)]);
  }
  const packages = PACKAGES === "" ? {} : { readOnly: [PACKAGES], env: { PYTHONPATH: PACKAGES } };
  writeFileSync(join(root, "snapshots.json"), JSON.stringify({ jupyter: { extends: "base", ...packages } }));
  return calls;
}

const sandboxed = await startSandboxed();
const canRunNotebooks = await hasNotebooks(sandboxed);
await sandboxed?.close();

function countResults(): number {
  const db = new Database(path("art-e.db"), { readonly: true });
  try {
    return db.prepare("SELECT count(*) FROM results").pluck().get() as number;
  } catch {
    return 0;
  } finally {
    db.close();
  }
}

describe("a run of real tasks, killed in the middle and resumed", needs("suites"), () => {
  const all = Object.entries(TASKS);
  const possible = needs("notebooks", machinesStart && canRunNotebooks);

  const scoresOnce = async (tasks: Tasks) => {
    mkdirSync(path("suite"), { recursive: true });
    const calls = copySuite(path("suite"), tasks);
    const provider = await startFakeProvider(async ({ turn, question }) => {
      await delay(50);
      const call = calls.get(question)?.[turn];
      return { toolCalls: [call ?? { name: "return_final_answer", arguments: { answer: "Done.", sources: [] } }] };
    });
    const variables = providerVariables(provider);
    const line = `run --suite ${path("suite")} -a data-worker --concurrency 4 --quiet -o results.json`;
    // An empty database, so that the test can look at it from the start.
    await artE("agents list");
    const { child, ended } = start(line, variables);
    await expect.poll(() => countResults()).toBeGreaterThan(1);
    await expect.poll(() => processesWith(`sleep\0${WORD}`).length).toBeGreaterThan(0);
    child.kill("SIGKILL");
    expect((await ended).code).toBeNull();
    await expect.poll(() => processesWith(`sleep\0${WORD}`)).toEqual([]);
    const before = countResults();
    expect(before).toBeLessThan(tasks.length);
    expect(await artE("run --resume latest --quiet -o results.json", variables)).toMatchObject({ code: 0 });
    await provider.close();
    const { taskResults } = resultsSchema.parse(readJson("results.json"));
    const scores = taskResults.map(({ taskId, suite }) => [taskId, suite?.state, suite?.score, suite?.reason === ""]);
    const expected = tasks.map(([id, { score }]) => [id, "success", score, score === 1]);
    expect(scores).toEqual(expected.sort());
    expect(countResults()).toBe(expected.length);
    expect(processesWith(`sleep\0${WORD}`)).toEqual([]);
    expect(await leftInSandboxes()).toEqual([]);
  };

  const NAME = "scores 1 if done right and 0 if not, only once, and leaves no machine behind";
  it(`${NAME}: seven tasks`, possible, () => scoresOnce(all.filter(([id]) => FEW.test(id))));
  it(`${NAME}: all tasks`, slow(possible), () => scoresOnce(all));
});
