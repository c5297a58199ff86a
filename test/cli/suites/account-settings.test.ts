import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import type { FakeProvider } from "../../providers/fake-provider.js";
import { machinesStart } from "../../suites/machines-start.js";
import { spiderTask, writeSuite } from "../../suites/write-suite.js";
import { everyFile, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";
import { providerVariables, python, shell, startScriptedAgent } from "./scripted-agent.js";

/** Account settings: they reach the machines of tasks tagged account, and nothing that is kept, shown or sent. */

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

/** It shows the settings in every way it can think of, and uses them. */
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

describe("account settings", needs("sandbox", machinesStart), () => {
  it("are used in the machine of a task that is tagged account, and are seen nowhere else", async () => {
    const suite = suiteWith(JSON.stringify(FILLED));
    const { code, stdout, stderr } = await run(suite, "");
    expect({ code, stderr: stderr.includes("Error") }).toEqual({ code: 3, stderr: false });
    const { taskResults } = resultsSchema.parse(readJson("results.json"));
    expect(taskResults.map(({ taskId, suite: graded }) => [taskId, graded?.score, graded?.state])).toEqual([
      ["11111111", 1, "success"],
      ["33333333", null, "setup_error"],
      ["44444444", null, "setup_error"],
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

  it("come from a folder of the user's, and from variables, which go before", async () => {
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
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("/nowhere is no folder") });
    const files = everyFile(path(".")).filter(({ name }) => !name.startsWith(own));
    expect(holdsSecret(files)).toEqual([]);
  });
});
