import { cpSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { machinesStart } from "../../suites/machines-start.js";
import { ROOT, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

/** The agents oracle and noop on the demo suite: real machines, real evaluation functions, no model. */

const SUITE = join(ROOT, "fixtures/suites/demo");
/** The tasks of snapshots that take no packages. */
const HERE = "--tag cli --quiet --json";
const { artE, path, readJson } = workFolder();

const scoresOf = (file: string) =>
  resultsSchema
    .parse(readJson(file))
    .taskResults.map(({ taskId, ending, suite }) => [`${taskId}`.slice(0, 8), ending, suite?.score]);

describe("run --suite without a model", needs("sandbox", machinesStart), () => {
  it("scores 1 where the oracle's files are in place, and 0 where nothing was done", async () => {
    for (const [agent, score] of [
      ["oracle", 1],
      ["noop", 0],
    ] as const) {
      const { code, stderr } = await artE(`run --suite ${SUITE} --tool terminal -a ${agent} ${HERE} -o ${agent}.json`);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const scores = scoresOf(`${agent}.json`);
      expect(scores).toHaveLength(10);
      for (const task of scores) expect(task.slice(1)).toEqual(["answered", score]);
    }
  });

  it("goes on with the oracle's run, by the file that it began with", async () => {
    const suite = path("demo");
    cpSync(SUITE, suite, { recursive: true });
    const input = join(suite, "examples/terminal/142a807f-2837-51cf-879a-45809fa50acf/kilns.log");
    const own = path("lines.jsonl");
    renameSync(input, path("kilns.log"));
    symlinkSync(path("kilns.log"), input);
    renameSync(join(suite, "oracle.jsonl"), own);
    const line = `run --suite ${suite} --task 84401e16,142a807f -a oracle --concurrency 1 --max-failures 1 --quiet`;
    const without = await artE(line);
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining("demo has no oracle.jsonl.") });
    const begun = await artE(`${line} --oracle lines.jsonl -o resumed.json`);
    expect(begun.code).toBe(1);
    rmSync(input);
    renameSync(path("kilns.log"), input);
    const other = await artE("run --resume latest --oracle other.jsonl");
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("oracle was ") });
    const more = await artE("run --resume latest --retry-failed --max-failures 9 --quiet");
    expect(more).toMatchObject({ code: 0, stderr: "" });
    expect(scoresOf("resumed.json")).toEqual([
      ["142a807f", "answered", 1],
      ["84401e16", "answered", 1],
    ]);
    rmSync(suite, { recursive: true });
  });
});

describe("an oracle", () => {
  const refused = async (line: string, message: string) =>
    expect(await artE(`run ${line}`)).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });

  it("is for tasks of a suite, and for its agent", async () => {
    await refused("-a oracle --dataset none.jsonl", "The model offline/oracle is for tasks of a suite.");
    await refused(
      `--suite ${SUITE} -a noop --oracle o.jsonl`,
      "--oracle is for the agent oracle, and the agent's model",
    );
    await refused(`--suite ${SUITE} -a oracle --oracle o.jsonl`, "o.jsonl cannot be read");
  });
});
