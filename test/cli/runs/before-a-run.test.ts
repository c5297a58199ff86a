import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.js";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import {
  BIN,
  boxLines,
  demoQuestion,
  type Ended,
  jsonLines,
  MAIL,
  MARCUS,
  QUESTIONS,
  startProgram,
  workFolder,
} from "../art-e.js";

describe("checks before a run", () => {
  const { artE, path, write } = workFolder({ mail: MAIL });

  /** A dataset of two questions, one of them about a person whose own mailbox is not in the demo. */
  function otherInbox(): string {
    const question = { ...demoQuestion(1), inbox_address: "amontero@merriwellgas.example" };
    return write("other-inbox.jsonl", `${JSON.stringify(demoQuestion(2))}\n${JSON.stringify(question)}\n`);
  }

  /** Expects exit code 2, one line and a hint. */
  async function refused(line: string, message: string | RegExp, hint: string | RegExp): Promise<void> {
    const { code, stdout, stderr } = await artE(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    const [said = "", advice = "", ...more] = stderr.replaceAll(path(""), "").split("\n");
    expect(said.replace("art-e: ", "")).toMatch(message);
    expect(advice.trim()).toMatch(hint);
    expect(more).toEqual([""]);
  }

  describe("errors of art-e run", () => {
    it.each([
      ["anthropic", "", "ANTHROPIC_API_KEY"],
      ["openai", "--model-id openai/gpt-4.1", "OPENAI_API_KEY"],
      ["google", "--model-id google/gemini-2.5-pro", "GOOGLE_API_KEY or GEMINI_API_KEY"],
    ])("report a missing key for %s", (provider, flags, variables) =>
      refused(
        `run -a email-search ${flags} --dataset ${QUESTIONS}`,
        `No API key for ${provider}: ${variables} is not set.`,
        `Set ${variables} in the environment or in .env. Or pass --model-id offline/baseline, which does not need a key.`,
      ),
    );

    it("report an unknown agent", () =>
      refused(
        "run -a nobody",
        'Unknown agent "nobody".',
        "Available: art-e, baseline, data-worker, email-search, mail-rules, mail-worker, noop, oracle",
      ));

    it("report a model that no provider offers", () =>
      refused(
        "run -a art-e --model-id acme/best",
        'Unknown provider "acme" in --model-id acme/best.',
        "Available: anthropic,",
      ));

    it("report a missing database", () =>
      refused(
        "run -a baseline --db no.db",
        "Cannot open the database no.db: the file does not exist.",
        "Import mail first",
      ));

    it("report a database of another program", () => {
      write("notes.db", "not a database");
      return refused("run -a baseline --db notes.db", "Cannot use notes.db: it is not a SQLite file.", "--db");
    });

    it("report a database without mail", () => {
      openStore(path("empty.db"), { mustExist: false }).close();
      const line = `run -a baseline --db empty.db --dataset ${QUESTIONS}`;
      return refused(line, "empty.db does not contain any mail.", "art-e import SOURCE");
    });

    it("report a question about a mailbox that is not imported", () =>
      refused(
        `run -a baseline --dataset ${otherInbox()}`,
        "1 of 2 questions are about mailboxes that were not imported: amontero@",
        "--partial-inboxes",
      ));

    it("report an output file whose folder does not exist", () =>
      refused(
        "run -a baseline -o no/results.json",
        "--output: Cannot write no/results.json: the folder no does not exist.",
        "mkdir -p no",
      ));

    it.each([
      ["does not exist", "no.jsonl", "Cannot read questions from no.jsonl: no such file"],
      ["contains a row that is not a question", "bad-row.jsonl", 'bad-row.jsonl: line 2, field "answer" is missing'],
    ])("report a dataset that %s", (_, file, message) => {
      write("bad-row.jsonl", `${JSON.stringify(demoQuestion(1))}\n{"id": 2, "question": "Who?"}\n`);
      return refused(`run -a baseline --dataset ${file}`, message, /Parquet|columns|row|path/);
    });

    it("report flags that leave no question", () =>
      refused(
        `run -a baseline --dataset ${QUESTIONS} --inbox nobody@kestrelplains.example`,
        "None of the 73 questions",
        "No question is about --inbox nobody@kestrelplains.example.",
      ));

    it("report a misspelled mailbox", () =>
      refused(
        `run -a baseline --dataset ${QUESTIONS} --inbox marcus.hal@kestrelplains.example`,
        "None of the 73 questions",
        "Did you mean marcus.hale@kestrelplains.example?",
      ));

    it("report flags that leave no question for a mailbox", () =>
      refused(
        `run -a baseline --dataset ${QUESTIONS} --inbox ruth.whitlock@kestrelplains.example --ids 1`,
        "None of the 73 questions",
        "Relax --min-realism, --max-sources, --ids or --inbox.",
      ));

    it("appear before the run starts", async () => {
      expect((await artE("stats --runs")).stdout).toBe("No runs yet. Start one with art-e run -a AGENT.\n");
    });
  });

  describe("an unknown name", () => {
    it.each([
      ["stats --run run_1", 'Unknown run "run_1"', "art-e runs list"],
      ["export-traces", "No runs in ./art-e.db yet.", "Start one: art-e run -a AGENT"],
      ["show latest/1", "No runs in ./art-e.db yet.", "Start one: art-e run -a AGENT"],
      ["show <no@mail>", "Unknown email <no@mail>", "Search for its Message-ID: art-e search ADDRESS WORDS"],
      ["search xyz@nowhere.example gas", "is from or to xyz@nowhere.example.", "Addresses with the most mail: "],
      [
        "search marcus.hal@kestrelplains.example gas",
        "is from or to marcus.hal@kestrelplains.example.",
        "Similar addresses: marcus.hale@kestrelplains.example.",
      ],
      ["tools show nothing", 'Unknown tool "nothing".', "Available:"],
    ])("leads to one line (%s)", (line, message, hint) => refused(line, message, hint));
  });

  it("answers questions about a partly imported mailbox with --partial-inboxes", async () => {
    const { code, stdout } = await artE(`run -a baseline --dataset ${otherInbox()} --partial-inboxes`);
    expect({ code, tasks: boxLines(stdout).Tasks }).toEqual({
      code: 0,
      tasks: "2 of the test split: 2 completed, 0 failed",
    });
  });
});

describe("--unsafe-host-python", () => {
  const { artE, readJson } = workFolder({ mail: MAIL });

  it("appears in the run's settings, and cannot be added on resume", async () => {
    const run = `run -a baseline --dataset ${QUESTIONS} -l 1 --quiet`;
    expect(await artE(`${run} --unsafe-host-python -o unsafe.json`)).toMatchObject({ code: 0 });
    expect(readJson("unsafe.json").settings.unsafeHostPython).toBe(true);
    expect(await artE(`${run} -o safe.json`)).toMatchObject({ code: 0 });
    expect(readJson("safe.json").settings).not.toHaveProperty("unsafeHostPython");
    const { code, stderr } = await artE("run --resume latest --unsafe-host-python");
    expect(code).toBe(2);
    expect(stderr).toContain("unsafeHostPython was undefined and would be true");
  });
});

describe("execute_python", () => {
  /** execute_python never falls back to the bare machine, whether or not a sandbox works. */

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

  /** The built program without user namespaces, so that bubblewrap does not work. */
  function withoutSandbox(args: readonly string[]): Promise<Ended> {
    const program = [process.execPath, BIN, ...args];
    const apart = [BWRAP, "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", "--", ...program];
    const [file = "", ...rest] = existsSync(BWRAP) ? apart : program;
    return startProgram(path("."), file, rest, variables()).ended;
  }

  const MACHINES: readonly [string, (args: readonly string[]) => Promise<Ended>, RegExp][] = [
    ["this machine", (args) => artE(args, variables()), /apart\\+n|Python is unsupported on this machine/],
    ["a machine without a sandbox", withoutSandbox, /Python is unsupported on this machine|apart\\+n/],
  ];

  const run = (name: string) =>
    ["run", "-a", "coder", "--dataset", QUESTIONS, "-l", "1", "--quiet", "-o", name] as const;

  /** The tool's output in the last run. */
  async function toolResult(): Promise<string> {
    expect(await artE("export-traces --run latest --format jsonl -o traces.jsonl")).toMatchObject({ code: 0 });
    const [trace] = jsonLines(read("traces.jsonl"));
    return JSON.stringify(trace.toolCalls[0]);
  }

  describe.each(MACHINES)("on %s", (_, start, said) => {
    it("isolates the code, or rejects it, in tools test", async () => {
      const { stdout } = await start(["tools", "test", "execute_python", JSON.stringify({ code })]);
      expect(stdout).toMatch(said);
      expect(stdout).not.toContain("REACHED");
    });

    it("isolates the code, or rejects it, in a run", async () => {
      expect(await start(run(`${Date.now()}.json`))).toMatchObject({ code: 0 });
      const result = await toolResult();
      expect(result).toMatch(said);
      expect(result).not.toContain("REACHED");
    });

    it("still allows file tools", async () => {
      const { stdout } = await start(["tools", "test", "write_file", '{"path": "a/b.txt", "content": "x"}']);
      expect(stdout).toContain('"bytes": 1');
    });

    it("isolates the code, or rejects it, in ask", async () => {
      const { stdout } = await start(["ask", MARCUS, "How much?", "-a", "coder", "--json"]);
      const asked = JSON.stringify(provider.requests.at(-1)?.body);
      expect(stdout).not.toBe("");
      expect(asked).toMatch(said);
      expect(asked).not.toContain("REACHED");
    });
  });

  it(
    "appears as unavailable in doctor if the machine has no sandbox",
    needs("sandbox", existsSync(BWRAP)),
    async () => {
      const { stdout } = await withoutSandbox(["doctor", "--json"]);
      expect(["docker", null]).toContain(JSON.parse(stdout).sandbox.kind);
    },
  );

  it("reaches the host if the run allows it, which proves that the other tests would notice", async () => {
    expect(await artE([...run("unsafe.json"), "--unsafe-host-python"], variables())).toMatchObject({ code: 0 });
    expect(await toolResult()).toContain("REACHED");
  });
});
