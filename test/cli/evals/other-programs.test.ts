import { beforeAll, describe, expect, it } from "vitest";
import { workFolder } from "../art-e.js";
import { labelLines } from "./brief-answers.js";
import { jsonOf } from "./json-output.js";

/**
 * Traces of other programs and chats have neither run nor gold answer, but are labeled, tested and judged like a run's.
 */

const { artE, read, write } = workFolder({ demo: "answered" });

const json = jsonOf(artE);

/** Without the fields that art-e adds to a format: as another program writes it. */
function foreign(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => !String(one?.key).startsWith("art_e")).map(foreign);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (key === "extra" ? [] : [[key, foreign(inner)]])),
  );
}

const EVALS = ["numbers_from_mail", "no_repeated_call", "addresses_from_tools", "short_answer"];

describe.each(["otlp", "atif"])("traces imported from another program as %s", (format) => {
  const db = `${format}.db`;
  let answers: { traceId: string; answer: string }[] = [];

  beforeAll(async () => {
    await json(`export-traces --run latest --format ${format} -o ${format}.jsonl --overwrite`);
    const lines = read(`${format}.jsonl`)
      .trimEnd()
      .split("\n")
      .map((line) => JSON.stringify(foreign(JSON.parse(line))));
    write(`${format}-foreign.jsonl`, `${lines.join("\n")}\n`);
    expect(await json(`import-traces ${format}-foreign.jsonl --db ${db}`)).toMatchObject({ traces: 0, chats: 73 });
    await json(`export-traces --chats -o ${format}-chats.jsonl --overwrite --db ${db}`);
    answers = read(`${format}-chats.jsonl`)
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  });

  it("get the same verdicts as the original run", async () => {
    const add = (name: string) => `evals add ${name}${name === "short_answer" ? " --at-most 14" : ""}`;
    for (const name of EVALS) {
      await json(add(name));
      await json(`${add(name)} --db ${db}`);
    }
    const names = EVALS.map((name) => `${name}@1`).join(" ");
    const figures = ({ evals }: { evals: Record<string, unknown>[] }) =>
      evals.map(({ name, passed, failed, notApplicable, errors, passRate }) => ({
        name,
        passed,
        failed,
        notApplicable,
        errors,
        passRate,
      }));
    const chats = await json(`evals run ${names} --chats --db ${db}`);
    expect(chats).toMatchObject({ runId: null, traces: 73 });
    expect(figures(chats)).toEqual(figures(await json(`evals run ${names}`)));
    const { scores } = await json(`show ${answers[0]?.traceId} --db ${db}`);
    expect(Object.keys(scores)).toEqual(expect.arrayContaining(EVALS.map((name) => `eval:${name}`)));
  });

  it("can have labels, which validate evals", async () => {
    const answered = answers.map(({ traceId, answer }) => ({ traceId, agentAnswer: answer }));
    write(`${format}-labels.jsonl`, labelLines(answered, { drawn: "all" }));
    await json(`evals label --from ${format}-labels.jsonl --db ${db}`);
    const [{ templates }] = await json(`evals suggest --db ${db}`);
    expect(templates[0]).toMatchObject({ name: "short_answer", version: 1 });
    expect((await json(`evals test short_answer --db ${db}`))[0]).toMatchObject({ passed: true });
    await json(`evals use short_answer --db ${db}`);
    const { evals: run } = await json(`evals run short_answer --chats --db ${db}`);
    expect(run[0]).toMatchObject({ validation: "passed", corrected: { n: 73 } });
  });
});

it("evals run rejects a mix of chats, a run and a trace", async () => {
  expect(await artE("evals run has_source --chats --run latest")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("A run, --chats and --trace cannot be combined"),
  });
});
