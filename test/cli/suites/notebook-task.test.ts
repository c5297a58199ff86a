import { expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { machinesStart } from "../../suites/machines-start.js";
import { flowbookTask, upload, writeSuite } from "../../suites/write-suite.js";
import { hasNotebooks, PACKAGES, startSandboxed } from "../../tools/machines.js";
import { workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";
import { providerVariables, python, startScriptedAgent } from "./scripted-agent.js";

/**
 * Tasks whose snapshot contains nbclient. The setup runs a notebook, the agent changes it, and the grading script runs it
 * again, each with a kernel in the task's machine.
 */

const { artE, readJson } = workFolder();

const sandboxed = await startSandboxed();
const canRunNotebooks = await hasNotebooks(sandboxed);
await sandboxed?.close();

const NOTEBOOK = JSON.stringify({
  cells: [
    { cell_type: "code", id: "a", metadata: {}, outputs: [], execution_count: null, source: "rate = 6" },
    {
      cell_type: "code",
      id: "b",
      metadata: {},
      outputs: [],
      execution_count: null,
      source: "import os\nprint('total', rate * 7, os.environ['HOME'], os.getcwd())",
    },
  ],
  metadata: { kernelspec: { name: "python3", display_name: "Python 3", language: "python" } },
  nbformat: 4,
  nbformat_minor: 5,
});

/** Runs the notebook in place and writes its printed lines to a log. */
const runInto = (log: string) => `set -e
cd ~/Desktop
python3 - <<'PROGRAM' > ~/${log}
import nbclient, nbformat
notebook = nbformat.read("rates.ipynb", as_version=4)
nbclient.NotebookClient(notebook, timeout=120).execute()
nbformat.write(notebook, "rates.ipynb")
print("".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])))
PROGRAM
`;

const EDIT = (rate: string) => `
path = "Desktop/rates.ipynb"
text = open(path, encoding="utf-8").read()
assert "total 42" in text, "the setup did not run the notebook"
open(path, "w", encoding="utf-8").write(text.replace("rate = 6", "${rate}"))`;

const AGENTS: Readonly<Record<string, readonly [code: string, score: 0 | 1]>> = {
  right: [EDIT("rate = 9"), 1],
  wrong: [EDIT("rate = 8"), 0],
  broken: [EDIT("rate = 1 / 0"), 0],
};

it(
  "tasks run notebooks in their setup and in their grading",
  needs("notebooks", machinesStart && canRunNotebooks),
  async () => {
    const names = Object.keys(AGENTS);
    const folderOf = (name: string) => `examples/jupyter/${name}`;
    const files = names.flatMap((name, i): [string, string | object][] => [
      [
        `${folderOf(name)}/${name}.json`,
        flowbookTask(name, names[(i + 1) % names.length] ?? "", {
          instruction: `Be ${name}.`,
          snapshot: "notebooks",
          config: [
            upload("rates.ipynb", "/home/user/Desktop/rates.ipynb"),
            {
              func: "upload_script_and_execute",
              arguments: { local_path: "run.sh", remote_path: "/home/user/run.sh" },
            },
          ],
          evaluation: {
            func: "compare_script_logs",
            arguments: {
              eval_script: "eval.sh",
              vm_eval_logs: "/home/user/eval.log",
              rules: { include: ["total 63 /home/user /home/user/Desktop"], exclude: ["Error"] },
            },
          },
        }),
      ],
      [`${folderOf(name)}/rates.ipynb`, NOTEBOOK],
      [`${folderOf(name)}/run.sh`, runInto("run.log")],
      [`${folderOf(name)}/eval.sh`, runInto("eval.log")],
    ]);
    const packages = PACKAGES === "" ? {} : { readOnly: [PACKAGES], env: { PYTHONPATH: PACKAGES } };
    const snapshots = { notebooks: { extends: "base", modules: { nbclient: null, ipykernel: null }, ...packages } };
    const suite = writeSuite({ ...Object.fromEntries(files), "snapshots.json": snapshots });
    const provider = await startScriptedAgent((instruction) => {
      const [, name = ""] = /Be (\w+)\./.exec(instruction) ?? [];
      return [python(AGENTS[name]?.[0] ?? "")];
    });
    const line = `run --suite ${suite} -a data-worker --quiet --concurrency 2 -o results.json`;
    expect(await artE(line, providerVariables(provider))).toMatchObject({ code: 0 });
    await provider.close();
    const { taskResults } = resultsSchema.parse(readJson("results.json"));
    const grades = taskResults.map(({ taskId, suite: graded }) => [taskId, graded?.state, graded?.score]);
    expect(grades).toEqual(
      Object.entries(AGENTS)
        .map(([name, [, score]]) => [name, "success", score])
        .sort(),
    );
  },
);
