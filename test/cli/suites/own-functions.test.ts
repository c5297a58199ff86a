import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import type { FakeProvider } from "../../providers/fake-provider.js";
import { machinesStart } from "../../suites/machines-start.js";
import { flowbookTask, spiderTask, writeSuite } from "../../suites/write-suite.js";
import { everyFile, workFolder } from "../art-e.js";
import { ownResultsSchema, resultsSchema } from "../results-schema.js";
import { providerVariables, python, shell, startScriptedAgent } from "./scripted-agent.js";

describe("suites with accounts", () => {
  /** Account settings reach only the machines of tasks tagged account, and nothing that is stored, shown or sent. */

  const { artE, path, readJson } = workFolder();
  const SETTINGS = "evaluation_examples/settings/lakehouse/settings.json";
  const PASSWORD = "Tr0ub4dor & 3/%ü";
  const FILLED = { account: "https://lake-7731.example", user: "BRIDGET_K", password: PASSWORD, role: "reader", n: 1 };

  const TEMPLATE = `{ // fill in
  "account": "https://xxxxxxxx.example", "user": "USER_NAME", "password": "YOUR_PASSWORD", "role": "reader", "n": 1 }`;

  const copy = (dest: string, changes: object = {}) => ({
    type: "copyfile_from_host_to_guest",
    parameters: { src: SETTINGS, dest, ...changes },
  });

  const output = (command: string) => ({ type: "vm_command_line", command: ["bash", "-c", command] });
  const TAGS = ["cli", "data_warehousing", "abstract"];

  const WITH_ACCOUNT = spiderTask("11111111", "22222222", {
    snapshot: "base",
    instruction: "Log in to the lake.",
    tags: [...TAGS, "account"],
    config: [copy("/home/user/creds.json"), copy("/home/user/encoded/creds.json", { json_encode: true })],
    evaluator: {
      func: "exact_match",
      result: output(
        "test $(cat ~/out.txt | sha256sum | cut -c1-8) = $(jq -rj .password ~/creds.json | sha256sum | cut -c1-8) && echo same; cat ~/out.txt >&2",
      ),
      expected: { type: "rule", rules: { expected: "same\n" } },
    },
  });

  const OTHERS = [
    ["33333333", "a copy", [copy("/home/user/creds.json")]],
    [
      "44444444",
      "a folder",
      [{ ...copy("/home/user/all"), parameters: { src: "evaluation_examples", dest: "/home/user/all" } }],
    ],
    [
      "55555555",
      "a way round",
      [{ ...copy("x"), parameters: { src: `evaluation_examples/examples/../${SETTINGS.slice(20)}`, dest: "/tmp/x" } }],
    ],
    ["66666666", "a script", [{ type: "script_and_execute", parameters: { src: SETTINGS, dest: "/tmp/x" } }]],
    ["77777777", "nothing", []],
  ] as const;

  function suiteWith(settings: string | null): string {
    const tasks = [
      WITH_ACCOUNT,
      ...OTHERS.map(([id, what, config]) =>
        spiderTask(id, "none", {
          snapshot: "base",
          instruction: `Find ${what}.`,
          tags: TAGS,
          config,
          evaluator: {
            func: "exact_match",
            result: output("echo a"),
            expected: { type: "rule", rules: { expected: "a\n" } },
          },
        }),
      ),
    ];
    return writeSuite({
      ...Object.fromEntries(
        tasks.map((task) => [`evaluation_examples/examples/terminal/${task.id}/${task.id}.json`, task]),
      ),
      [`${SETTINGS}.template`]: TEMPLATE,
      ...(settings === null ? {} : { [SETTINGS]: settings }),
    });
  }

  let provider: FakeProvider;

  afterEach(() => provider.close());

  /** Prints the settings in every possible way, and uses them. */
  const CALLS = [
    shell("cat creds.json encoded/creds.json; cat creds.json >&2; ls -R ~ | head -50"),
    shell("jq -r .password creds.json; jq -rj .password creds.json | base64; jq -r '.password|@uri' creds.json; env"),
    { name: "read_file", arguments: { path: "/home/user/creds.json" } },
    python("import json; s = json.load(open('creds.json')); print(s); open('out.txt', 'w').write(s['password'])"),
    shell("false; $(cat creds.json); ls no-such-$(jq -r .user creds.json)"),
    shell("cat out.txt; find / -name '*settings*' -not -path '/proc/*' -not -path '/usr/*' 2>/dev/null"),
  ];

  const run = async (suite: string, flags: string, variables: Record<string, string> = {}) => {
    provider = await startScriptedAgent(() => CALLS);
    const line = `run --suite ${suite} -a data-worker --cache --record replies.jsonl --overwrite -o results.json --verbose ${flags}`;
    return artE(line, { ...providerVariables(provider), ...variables });
  };

  const secretParts = [
    PASSWORD,
    "Tr0ub4dor",
    "BRIDGET_K",
    "lake-7731",
    Buffer.from(PASSWORD).toString("base64").slice(0, 16),
  ];

  function holdsSecret(texts: readonly { name: string; bytes: string }[]): string[] {
    return texts.filter(({ bytes }) => secretParts.some((part) => bytes.includes(part))).map(({ name }) => name);
  }

  describe("settings of accounts", needs("sandbox", machinesStart), () => {
    it("exist in the machine of a task tagged account, and nowhere else", { tags: ["slow"] }, async () => {
      const suite = suiteWith(JSON.stringify(FILLED));
      const { code, stdout, stderr } = await run(suite, "");
      expect({ code, stderr: stderr.includes("Error") }).toEqual({ code: 3, stderr: false });
      const { taskResults } = resultsSchema.parse(readJson("results.json"));
      expect(taskResults.map(({ taskId, suite: graded }) => [taskId, graded?.score, graded?.state])).toEqual([
        ["11111111", 1, "success"],
        ["33333333", null, "setup_error"],
        ["44444444", null, "missing_files"],
        ["55555555", null, "setup_error"],
        ["66666666", null, "setup_error"],
        ["77777777", 1, "success"],
      ]);
      for (const { suite: graded } of taskResults.slice(1, 5)) {
        expect(graded?.reason).toContain("only tasks tagged account get account settings");
      }
      const trace = await artE("show latest/11111111 --json");
      expect(trace.stdout).toContain("[secret]");
      const sent = provider.requests.map(({ body }, i) => ({ name: `request ${i}`, bytes: JSON.stringify(body) }));
      const printed = [stdout, stderr, trace.stdout].map((bytes, i) => ({ name: `output ${i}`, bytes }));
      expect(holdsSecret([...everyFile(path(".")), ...sent, ...printed])).toEqual([]);
    });

    it("come from the user's folder, or from variables, which take precedence", { tags: ["slow"] }, async () => {
      const suite = suiteWith(null);
      const own = path("accounts");
      mkdirSync(join(own, "lakehouse"), { recursive: true });
      writeFileSync(join(own, "lakehouse/settings.json"), JSON.stringify({ ...FILLED, password: "YOUR_PASSWORD" }));
      const lacking = await run(suite, `--account-settings ${own} --task 1111`);
      expect(lacking.code).toBe(3);
      expect(readJson("results.json").taskResults[0].suite).toMatchObject({
        score: null,
        state: "needs_account",
        reason: "settings/lakehouse/settings.json is not filled in: password",
      });
      await provider.close();
      const variables = { ART_E_ACCOUNT_LAKEHOUSE_PASSWORD: PASSWORD };
      expect(await run(suite, `--account-settings ${own} --task 1111`, variables)).toMatchObject({ code: 0 });
      expect(readJson("results.json").taskResults[0].suite).toMatchObject({ score: 1, state: "success" });
      await provider.close();
      const all = { ...variables, ART_E_ACCOUNT_LAKEHOUSE_ACCOUNT: "https://lake-7731.example" };
      const only = await run(suite, "--task 1111", { ...all, ART_E_ACCOUNT_LAKEHOUSE_USER: "BRIDGET_K" });
      expect(only.code).toBe(0);
      expect(readJson("results.json").taskResults[0].suite).toMatchObject({ score: 1, state: "success" });
      await provider.close();
      const wrong = await run(suite, "--account-settings /nowhere --task 1111");
      expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("/nowhere is not a folder") });
      const files = everyFile(path(".")).filter(({ name }) => !name.startsWith(own));
      expect(holdsSecret(files)).toEqual([]);
    });
  });
});

describe("custom functions for a suite", () => {
  /** Custom setup and evaluation functions come from a module that --functions names, never from a suite. */

  const { artE, path, write, readJson } = workFolder();

  const MODULE = `
import { readFileSync } from "node:fs";

export const setUp = {
  async make_numbers({ upTo }, { machine, task }) {
    const { exitCode } = await machine.run(["sh", "-c", 'seq "$0" > ~/numbers.txt', String(upTo)]);
    if (exitCode !== 0) throw new Error("no numbers for " + task.id);
  },
  async snowflake_init() { throw new Error("the warehouse is closed"); },
};
export const getters = {
  async sum_of({ path }, { machine }) {
    const { stdout } = await machine.run(["awk", "{ s += $1 } END { print s }", path]);
    return Number(stdout);
  },
};
export const evaluation = {
  async has_sum({ sum, file }, { machine, workFolder, result, expected }) {
    if (result !== null) return result === expected.sum ? 1 : 0.25;
    if (!(await machine.copyOut(file, workFolder + "/out"))) return 0;
    return readFileSync(workFolder + "/out", "utf8").trim() === String(sum) ? 1 : 0.5;
  },
  out_of_range: () => 7,
};
`;

  const SET_UP = { func: "make_numbers", arguments: { upTo: 10 } };

  const flowbook = (id: string, evaluation: object, config: readonly object[] = [SET_UP]) =>
    flowbookTask(id, "none", { snapshot: "base", instruction: "Add up.", config, evaluation });

  const TASKS = [
    flowbook("11111111", { func: "has_sum", arguments: { sum: 55, file: "/home/user/sum.txt" } }),
    flowbook("22222222", { func: "has_sum", arguments: { sum: 56, file: "/home/user/sum.txt" } }),
    flowbook("33333333", { func: "out_of_range", arguments: {} }),
    spiderTask("44444444", "none", {
      snapshot: "base",
      instruction: "Add up.",
      config: [{ type: "make_numbers", parameters: { upTo: 4 } }],
      evaluator: {
        func: "has_sum",
        result: { type: "sum_of", path: "/home/user/numbers.txt" },
        expected: { type: "rule", rules: { sum: 10 } },
      },
    }),
    spiderTask("55555555", "none", {
      snapshot: "base",
      config: [{ type: "snowflake_init", parameters: {} }],
      evaluator: { func: "has_sum", result: { type: "sum_of", path: "/x" }, expected: { type: "rule", rules: {} } },
    }),
  ];

  const FILES = Object.fromEntries(TASKS.map((task) => [`examples/terminal/${task.id}/${task.id}.json`, task]));
  let provider: FakeProvider | undefined;

  afterEach(() => provider?.close());

  const ADD = shell("awk '{ s += $1 } END { print s }' numbers.txt > sum.txt");

  describe("in a module", () => {
    it("set up and grade tasks in both dialects", needs("sandbox", machinesStart), async () => {
      const suite = writeSuite(FILES);
      const module = write("functions.mjs", MODULE);
      provider = await startScriptedAgent(() => [ADD]);
      const line = `run --suite ${suite} -a data-worker --functions ${module} --max-run-tokens 1 --concurrency 1`;
      expect((await artE(line, providerVariables(provider))).code).toBe(1);
      // A resumed run has its original functions.
      const more = "run --resume latest --max-run-tokens 1000000 --quiet -o results.json";
      expect(await artE(more, providerVariables(provider))).toMatchObject({ code: 0 });
      const { taskResults, settings } = ownResultsSchema.parse(readJson("results.json"));
      expect(settings.functions).toBe(module);
      expect(taskResults.map(({ suite: graded }) => [graded?.score, graded?.state, graded?.reason])).toEqual([
        [1, "success", ""],
        [0.5, "success", "has_sum returned 0.5"],
        [0, "success", "out_of_range: it returned 7, expected a number from 0 to 1"],
        [1, "success", ""],
        [null, "setup_error", "setup step 1, snowflake_init: the warehouse is closed"],
      ]);
    });

    it("satisfy suite check, which otherwise reports them as missing", async () => {
      const suite = writeSuite(FILES);
      const codes = async (flags: string) => {
        const { stdout } = await artE(`suite check ${suite} --json ${flags}`);
        return JSON.parse(stdout).errors.map(({ code }: { code: string }) => code);
      };
      const unknown = (await codes("")).filter((code: string) => code === "function_unknown");
      expect(unknown).toHaveLength(11);
      expect(await codes(`--functions ${write("functions.mjs", MODULE)}`)).not.toContain("function_unknown");
    });

    it("grade the files that an oracle line specifies", needs("sandbox", machinesStart), async () => {
      const suite = writeSuite(FILES);
      const line = {
        suite: suite.split("/").at(-1),
        uuid: "11111111",
        state: "gold",
        grading: "script",
        expected_score: 0,
      };
      const oracle = write("oracle.jsonl", JSON.stringify({ ...line, files: {} }));
      const module = write("functions.mjs", MODULE);
      const { stdout, code } = await artE(`suite check ${suite} --oracle ${oracle} --functions ${module}`);
      expect({ stdout, code }).toEqual({ stdout: "1 equal, 0 different, 0 skipped\n", code: 0 });
    });

    it.each([
      ["the file does not exist", null],
      ["cannot load it: the disk is gone", "throw new Error('the disk is gone')"],
      ["it exports no functions", "export const x = 1"],
      ["its setUp is not an object", "export const setUp = [() => 1]"],
      ["its evaluation.score is not a function", "export const evaluation = { score: 1 }"],
      [
        "its evaluation.compare_csv has the name of a built-in function",
        "export const evaluation = { compare_csv() {} }",
      ],
      ["its getters.vm_file has the name of a built-in function", "export const getters = { vm_file() {} }"],
      ["its setUp.execute has the name of a built-in function", "module.exports = { setUp: { execute() {} } }"],
    ])("cause an error in one line (%s)", async (what, text) => {
      const suite = writeSuite(FILES);
      const module = path(`wrong-${what.length}.js`);
      if (text !== null) writeFileSync(module, text);
      const { code, stderr } = await artE(`suite check ${suite} --functions ${module}`);
      expect({ code, line: stderr.split("\n")[0] }).toEqual({
        code: 2,
        line: `art-e: --functions ${module}: ${what}.`,
      });
    });

    it("cause an error in Python", async () => {
      const module = write("f.py", "def score(): return 1\n");
      const { code, stderr } = await artE(`suite check ${writeSuite(FILES)} --functions ${module}`);
      expect({ code, line: stderr.split("\n")[0] }).toEqual({
        code: 2,
        line: `art-e: --functions ${module}: it is not a JavaScript or TypeScript module (.js, .mjs, .ts).`,
      });
    });

    it("never come from a suite", async () => {
      const marker = join(path("."), "loaded");
      const evil = `require("node:fs").writeFileSync(${JSON.stringify(marker)}, "")`;
      const names = ["functions.js", "functions.mjs", "index.js", "settings/functions.js", "examples/functions.js"];
      const suite = writeSuite({ ...FILES, ...Object.fromEntries(names.map((name) => [name, evil])) });
      for (const line of [`suite check ${suite}`, `suite list ${suite}`]) await artE(line);
      expect(() => readJson("loaded")).toThrow("ENOENT");
    });

    it("can be used only for suite tasks", async () => {
      const { code, stderr } = await artE("run -a baseline --functions x.js");
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining("--functions does not apply to questions about mailboxes."),
      });
    });
  });
});
