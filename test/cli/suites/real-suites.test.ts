import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs, SUITES } from "../../machine-requirements.js";
import { machinesStart } from "../../suites/machines-start.js";
import { workFolder } from "../art-e.js";

describe("art-e suite check --oracle of a real suite", needs("suites"), () => {
  /** Both real suites, graded with an agent's possible files: gold files for 1, the untouched start for 0. */

  const { artE } = workFolder();

  it.each([
    ["flowbook", { equal: 52, different: 0, skipped: 178 }],
    ["spider2v", { equal: 168, different: 0, skipped: 62 }],
  ])("gives %s the same scores as the original evaluators", async (name, counts) => {
    const { stdout } = await artE(`suite check ${join(SUITES, name)} --oracle ${SUITES}/oracle/oracle.jsonl --json`);
    const { lines, ...found } = JSON.parse(stdout);
    const unequal = lines.filter((line: { score: number | null; expected: number }) => line.score !== line.expected);
    // Graded by a script or a running server.
    expect(unequal.filter(({ status }: { status: string }) => status !== "missing_files")).toEqual([]);
    expect(found).toEqual(counts);
  });
});

describe("art-e suite check --oracle with scripts and servers", needs("suites"), () => {
  /**
   * Tasks of the real suites that are graded by a script or a running server. The data does not include their scripts
   * and packages, so stand-ins written here follow the tasks' instructions.
   */

  const { artE, path } = workFolder();
  const KERNELS = "$HOME/.local/share/jupyter/kernels";

  const listKernels = (name: string) => ({
    "init.sh": `#!/bin/bash\nmkdir -p ${KERNELS}/python3 ${KERNELS}/${name}\n`,
    "eval.sh": `#!/bin/bash\nls ${KERNELS} | tee /home/user/eval.log\n`,
  });

  const PORT_1036 = {
    "init.sh": "#!/bin/bash\nls ~/Downloads/*.ipynb\n",
    "eval.sh":
      "#!/bin/bash\nif (exec 3<>/dev/tcp/127.0.0.1/1036) 2>/dev/null; then echo SUCCESS; else echo FAILURE; fi > ~/eval.log\n",
  };

  const DAGSTER = {
    "init.sh": "mkdir -p ~/dagster-proj\n",
    "eval.sh": `cd ~/dagster-proj
for file in pyproject.toml setup.cfg setup.py dagster_proj/__init__.py dagster_proj_tests/__init__.py; do
  [ -f $file ] || { echo failed; exit 1; }
done
echo succeeded
`,
  };

  const STAND_INS: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>> = {
    flowbook: {
      "examples/jupyter/2ed53418-f813-479f-b8a0-134bfebec393": listKernels("jupyter-kernel"),
      "examples/jupyter/e85047db-a5c5-4153-a6cb-4c272b11411c": PORT_1036,
    },
    spider2v: {
      "evaluation_examples/examples/jupyter/2ed53418-f813-479f-b8a0-134bfebec393": listKernels("jupyterlab"),
      "evaluation_examples/examples/dagster/1a57b227-d047-4dc9-8a33-2d4d02788667": DAGSTER,
      "evaluation_examples/examples/dagster/a627dc80-0cad-4799-8cd3-543af6c9bdda": DAGSTER,
    },
  };

  const HAS_BASH = { commands: { bash: "bash" } };

  const SNAPSHOTS = {
    jupyter: { ...HAS_BASH, shims: { jupyter: "exec python3 -m http.server --bind 127.0.0.1 1036" } },
    dagster: HAS_BASH,
  };

  /** The tasks that are graded by commands, with their oracle lines. */
  function copySuite(name: string): { suite: string; oracle: string } {
    const suite = path(name);
    for (const [folder, scripts] of Object.entries(STAND_INS[name] ?? {})) {
      cpSync(join(SUITES, name, folder), join(suite, folder), { recursive: true });
      for (const [script, text] of Object.entries(scripts)) {
        chmodSync(join(suite, folder), 0o755);
        writeFileSync(join(suite, folder, script), text);
      }
    }
    writeFileSync(join(suite, "snapshots.json"), JSON.stringify(SNAPSHOTS));
    const lines = readFileSync(join(SUITES, "oracle/oracle.jsonl"), "utf8").split("\n");
    const oracle = path("oracle.jsonl");
    writeFileSync(oracle, lines.filter((line) => /"grading": "(script|process)"/.test(line)).join("\n"));
    mkdirSync(dirname(path("derived/empty")), { recursive: true });
    writeFileSync(path("derived/empty"), "");
    return { suite, oracle };
  }

  it.each([
    ["flowbook", { equal: 4, different: 0, skipped: 6 }],
    ["spider2v", { equal: 6, different: 0, skipped: 4 }],
  ])("gives %s the scores in its oracle lines", needs("sandbox", machinesStart), async (name, counts) => {
    const { suite, oracle } = copySuite(name);
    const { code, stdout } = await artE(`suite check ${suite} --oracle ${oracle} --json`);
    const { lines, ...found } = JSON.parse(stdout);
    expect(lines.filter(({ status }: { status: string }) => status !== "success")).toEqual([]);
    expect({ code, ...found }).toEqual({ code: 0, ...counts });
  });

  it("names a missing script", needs("sandbox", machinesStart), async () => {
    const { suite, oracle } = copySuite("flowbook");
    const [kernels = ""] = Object.keys(STAND_INS.flowbook ?? {});
    rmSync(join(suite, kernels, "eval.sh"));
    const { lines } = JSON.parse((await artE(`suite check ${suite} --oracle ${oracle} --json`)).stdout);
    expect(lines[0]).toMatchObject({ status: "missing_files", reason: expect.stringContaining("eval.sh: missing") });
  });
});
