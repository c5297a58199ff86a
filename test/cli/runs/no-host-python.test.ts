import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { BIN, type Ended, jsonLines, MAIL, MARCUS, QUESTIONS, startProgram, workFolder } from "../art-e.js";

/** execute_python never falls back to the bare machine: neither where a sandbox works nor where none does. */

const { artE, path, read, write } = workFolder({ mail: MAIL });
const BWRAP = "/usr/bin/bwrap";

let provider: FakeProvider;
let code = "";
beforeAll(async () => {
  code = `import os; print("REACH" + "ED" if os.path.exists(${JSON.stringify(write("host.txt", "x"))}) else "apart")`;
  provider = await startFakeProvider((request) =>
    request.turn === 0
      ? { toolCalls: [{ name: "execute_python", arguments: { code } }] }
      : { toolCalls: [{ name: "return_final_answer", arguments: { answer: "x", sources: [] } }] },
  );
  const created = await artE("agents create coder --prompt p --tools execute_python,return_final_answer");
  expect(created).toMatchObject({ code: 0 });
});
afterAll(() => provider.close());

const variables = () => ({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: provider.baseUrl("anthropic") });

/** The built program where it may make no user namespace of its own, so that no bubblewrap works for it. */
function withoutSandbox(args: readonly string[]): Promise<Ended> {
  const program = [process.execPath, BIN, ...args];
  const apart = [BWRAP, "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", "--", ...program];
  const [file = "", ...rest] = existsSync(BWRAP) ? apart : program;
  return startProgram(path("."), file, rest, variables()).ended;
}

const MACHINES: readonly [string, (args: readonly string[]) => Promise<Ended>, RegExp][] = [
  ["this machine", (args) => artE(args, variables()), /apart\\+n|Python cannot be run on this machine/],
  ["a machine without a sandbox", withoutSandbox, /Python cannot be run on this machine|apart\\+n/],
];

const run = (name: string) => ["run", "-a", "coder", "--dataset", QUESTIONS, "-l", "1", "--quiet", "-o", name] as const;

/** What the tool said in the last run. */
async function toolResult(): Promise<string> {
  expect(await artE("export-traces --run latest --format jsonl -o traces.jsonl")).toMatchObject({ code: 0 });
  const [trace] = jsonLines(read("traces.jsonl"));
  return JSON.stringify(trace.toolCalls[0]);
}

describe.each(MACHINES)("on %s", (_, start, said) => {
  it("tools test keeps it apart, or refuses", async () => {
    const { stdout } = await start(["tools", "test", "execute_python", JSON.stringify({ code })]);
    expect(stdout).toMatch(said);
    expect(stdout).not.toContain("REACHED");
  });

  it("so does a run", async () => {
    expect(await start(run(`${Date.now()}.json`))).toMatchObject({ code: 0 });
    expect(await toolResult()).toMatch(said);
    expect(await toolResult()).not.toContain("REACHED");
  });

  it("while files can be written", async () => {
    const { stdout } = await start(["tools", "test", "write_file", '{"path": "a/b.txt", "content": "x"}']);
    expect(stdout).toContain('"bytes": 1');
  });

  it("and ask", async () => {
    const { stdout } = await start(["ask", MARCUS, "How much?", "-a", "coder", "--json"]);
    const asked = JSON.stringify(provider.requests.at(-1)?.body);
    expect(stdout).not.toBe("");
    expect(asked).toMatch(said);
    expect(asked).not.toContain("REACHED");
  });
});

it(
  "a machine without a sandbox has none in the doctor's eyes either",
  needs("sandbox", existsSync(BWRAP)),
  async () => {
    const { stdout } = await withoutSandbox(["doctor", "--json"]);
    expect(["docker", null]).toContain(JSON.parse(stdout).sandbox.kind);
  },
);

it("a run that asks for the host gets it, which shows that the others would tell", async () => {
  expect(await artE([...run("unsafe.json"), "--unsafe-host-python"], variables())).toMatchObject({ code: 0 });
  expect(await toolResult()).toContain("REACHED");
});
