import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nameOf } from "../../src/cli/command.js";
import { COMMANDS } from "../../src/cli/command-table.js";
import { OUTPUTS, outputSchemas } from "../../write-docs/json-outputs.js";
import { needs } from "../machine-requirements.js";
import { type RedisServer, startRedis } from "../queue/redis-server.js";
import { type Ended, type Line, MAIL, MARCUS, QUESTIONS, ROOT, type Started, workFolder } from "./art-e.js";

/** Command lines in the order in which they run. Later ones use what earlier ones created. */
const LINES: readonly Line[] = [
  "doctor",
  "doctor --owners",
  "import maildir --db other.db",
  "demo -o demo",
  ["search", MARCUS, "Merriwell base quantity"],
  ["search", MARCUS, "Merriwell base quantity", "--explain"],
  ["ask", MARCUS, "How much are the softball dues?", "-a", "baseline"],
  ["ask", MARCUS, "--needs-reply", "-a", "baseline"],
  "init -o mine.yaml",
  "completion bash",
  "run -a baseline --dataset questions.jsonl -l 3 --config off --dry-run",
  "run -a baseline --dataset questions.jsonl -l 3 --config off -o few.json",
  "runs rename latest few",
  "runs note few three",
  "runs tag few small",
  "runs list",
  "runs show",
  "runs show few",
  "show latest/1",
  "stats --corpus",
  "stats --runs",
  "stats latest",
  "stats --by inbox",
  "stats --dataset questions.jsonl",
  "report",
  "report -o report.html",
  "report -o report.csv",
  "report --csv tables",
  "score few",
  "compare results.json latest",
  "gate --fail-under accuracy=0",
  "reliability results.json",
  "eval-search --dataset questions.jsonl",
  "evals list",
  "evals suggest",
  "evals test",
  "evals use",
  "evals list --all",
  "evals run",
  "evals label --list",
  "evals label --disagreements",
  "evals modes",
  "evals cases",
  "evals add asked --contains Kestrel --mode good",
  "evals show asked",
  "evals show asked --code",
  "evals retire asked",
  "evals watch",
  "evals export",
  "export-traces -o traces.jsonl",
  "export-traces --for evals -o bands",
  "export-results -o all --format csv",
  "import-traces traces.jsonl --db other.db",
  "agents list",
  "agents show baseline",
  "agents clone baseline mine",
  "agents set mine --max-turns 3",
  "agents versions mine",
  "agents detach mine email_search",
  "agents attach mine email_search",
  ["agents", "configure", "mine", "email_search", "--config", "{}"],
  "agents export mine -o mine.agent.yaml",
  "agents export mine",
  "agents delete mine",
  "agents import mine.agent.yaml",
  "agents create other --prompt Answer.",
  "tools list",
  "tools show email_search",
  "tools add lookup --http http://127.0.0.1:9/ --description Looks",
  "tools set lookup --timeout 3",
  ["tools", "test", "email_search", JSON.stringify({ query: "gas", inbox_id: MARCUS })],
  "tools delete lookup",
  "questions check questions.jsonl",
  "questions make --kind actions -n 5 -o actions.jsonl",
  "suite export art-e --dataset questions.jsonl -o suite",
  "suite list demo-suite",
  "suite check demo-suite",
  "suite show demo-suite 84401e16",
  "suite image jupyter",
  ["mcp", MARCUS, "--print-config"],
  "env client --for trl -o client.py",
  "env export --dataset questions.jsonl -o harbor",
  "ctl list",
  "runs prune --keep 5",
  "runs delete few",
  "runs delete few --yes",
  "runs prune --keep 5 --yes",
];

/** Servers print their URL, and run until they are stopped. */
const SERVERS: readonly string[] = [
  "serve --port 0",
  `mcp ${MARCUS} --http --port 0`,
  "env serve --port 0 --dataset questions.jsonl",
];

/** These need a queue. */
const QUEUE: readonly string[] = ["queue status", "queue clean --all"];

/** Commands with an output that this file does not run, with the reason. */
const NOT_RUN: ReadonlyMap<string, string> = new Map([
  ["ctl show", "needs a running run, like the following ones: test/cli/runs/steer-run.test.ts"],
  ["ctl pause", "like ctl show"],
  ["ctl resume", "like ctl show"],
  ["ctl cancel", "like ctl show"],
  ["ctl requeue", "like ctl show"],
  ["ctl set", "like ctl show"],
  ["questions review", "prints its document when it is stopped: test/cli/questions/files-and-review.test.ts"],
  ["evals code", "asks a person: test/cli/error-analysis"],
]);

const document = JSON.parse(readFileSync(join(ROOT, OUTPUTS), "utf8"));

/** Also rejects properties that the schema does not describe. */
function closed(schema: unknown): unknown {
  if (typeof schema !== "object" || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  return typeof parts.properties === "object" && parts.type === "object"
    ? { additionalProperties: false, ...parts }
    : parts;
}

const COMMAND_NAMES = COMMANDS.flatMap((entry) =>
  "load" in entry ? [nameOf(entry)] : entry.subcommands.map((each) => `${nameOf(entry)} ${nameOf(each)}`),
);

function commandOf(line: Line): string {
  const words = typeof line === "string" ? line.split(" ") : line;
  const name = COMMAND_NAMES.find((each) => each === words.slice(0, each.split(" ").length).join(" "));
  if (name === undefined) throw new Error(`no command: ${words.join(" ")}`);
  return name;
}

const WITHOUT_DOCUMENT = COMMAND_NAMES.filter((name) => !(name in document.$defs));

describe("the schemas of JSON outputs", () => {
  const folder = workFolder({ demo: "labeled" });
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(closed(document) as object, "outputs");
  const started: Started[] = [];

  function schemaOf(line: Line): ValidateFunction {
    const validate = ajv.getSchema(`outputs#/$defs/${encodeURIComponent(commandOf(line))}`);
    if (validate === undefined) throw new Error(`no schema: ${commandOf(line)}`);
    return validate;
  }

  function check(line: Line, { stdout, stderr }: Pick<Ended, "stdout" | "stderr">): void {
    const validate = schemaOf(line);
    expect(stdout, stderr).not.toBe("");
    const isValid = validate(JSON.parse(stdout));
    const faults = validate.errors?.map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
    expect(faults?.slice(0, 5) ?? [], stdout.slice(0, 300)).toEqual([]);
    expect(isValid).toBe(true);
  }

  beforeAll(() => {
    cpSync(MAIL, folder.path("maildir"), { recursive: true });
    cpSync(QUESTIONS, folder.path("questions.jsonl"));
    cpSync(join(ROOT, "fixtures/suites/demo"), folder.path("demo-suite"), { recursive: true });
  });

  afterAll(() => {
    for (const { child } of started) child.kill();
  });

  it("match what npm run docs writes", { tags: ["slow"] }, () => {
    expect(outputSchemas()).toBe(readFileSync(join(ROOT, OUTPUTS), "utf8"));
  });

  it("exist for every command except those without a document", () => {
    expect(WITHOUT_DOCUMENT).toEqual(["worker"]);
    const run = new Set([...LINES, ...SERVERS, ...QUEUE].map(commandOf));
    const left = COMMAND_NAMES.filter((name) => !run.has(name) && !WITHOUT_DOCUMENT.includes(name));
    expect(left.sort()).toEqual([...NOT_RUN.keys()].sort());
  });

  it.each(LINES.map((line) => [typeof line === "string" ? line : line.join(" "), line] as const))(
    "describe the output of art-e %s",
    async (_, line) => {
      const words = typeof line === "string" ? line.split(" ") : line;
      check(line, await folder.artE([...words, "--json", "--no-progress"]));
    },
  );

  it.each(SERVERS)("describe the output of art-e %s", async (line) => {
    const server = folder.start(`${line} --json`);
    started.push(server);
    const stdout = await new Promise<string>((resolve) => {
      let text = "";
      server.child.stdout?.on("data", (chunk: Buffer) => {
        text += chunk;
        if (/^\}$/m.test(text)) resolve(text);
      });
    });
    check(line, { stdout, stderr: "" });
  });

  it("reject an additional and a missing property", async () => {
    const validate = schemaOf("agents list");
    const agents = JSON.parse((await folder.artE("agents list --json")).stdout);
    expect(validate(agents)).toBe(true);
    expect(validate([{ ...agents[0], more: 1 }])).toBe(false);
    const { id: _, ...withoutId } = agents[0];
    expect(validate([withoutId])).toBe(false);
  });
});

describe("the schema of a queue's status", needs("redis"), () => {
  const { artE } = workFolder();
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.close());

  it.each(QUEUE)("describes the output of art-e %s", async (line) => {
    const { stdout, stderr } = await artE(`${line} --json`, { ART_E_QUEUE_URL: redis.url });
    const validate = new Ajv2020({ strict: false, validateFormats: false })
      .addSchema(document, "outputs")
      .getSchema(`outputs#/$defs/${encodeURIComponent(commandOf(line))}`);
    expect(validate?.(JSON.parse(stdout)), stderr).toBe(true);
  });
});
