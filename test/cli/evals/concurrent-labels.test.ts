import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestBrowser } from "../../browser.js";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { addressOf, BIN, workFolder } from "../art-e.js";
import { isBrief, labelLines } from "./brief-answers.js";

/** Labels that several processes read and write at the same time, in one database. */

const { artE, path, readJson, start, write } = workFolder({ demo: "answered" });

let provider: FakeProvider;
/** The judge answers when this resolves. */
let judging: Promise<void> = Promise.resolve();

beforeAll(async () => {
  provider = await startFakeProvider(async ({ question }) => {
    await judging;
    const answer = /^Answer: ([\s\S]*?)\nSources: /m.exec(question)?.[1] ?? "";
    const result = isBrief(answer) ? "pass" : "fail";
    return { toolCalls: [{ name: "record_result", arguments: { reason: "by its length", result } }] };
  });
});
afterAll(() => provider.close());

const variables = () => ({ ANTHROPIC_API_KEY: "key", ANTHROPIC_BASE_URL: provider.url });

async function done(line: string): Promise<string> {
  const { code, stdout, stderr } = await artE(line, variables());
  expect({ line, code, stderr: code === 0 ? "" : stderr }).toEqual({ line, code: 0, stderr: "" });
  return stdout;
}

// biome-ignore lint/suspicious/noExplicitAny: the tests check every field that they read.
const labelsOf = async (criterion: string): Promise<any[]> =>
  JSON.parse(await done(`evals label --list --mode ${criterion} --json`)).labels;

interface Annotator {
  readonly child: ChildProcessWithoutNullStreams;
  said(): string;
  /** Resolves when the program has asked `count` times in total. */
  asked(count: number): Promise<void>;
}

function adjudicator(name: string): Annotator {
  const words = ["evals", "label", "--adjudicate", "--mode", "brief", "--annotator", name];
  const child = spawn(process.execPath, [BIN, ...words], { cwd: path("."), env: { NO_COLOR: "1" } });
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (more: string) => {
    text += more;
  });
  return {
    child,
    said: () => text,
    async asked(count) {
      while (text.split("g good, b bad").length - 1 < count) await once(child.stderr, "data");
    },
  };
}

describe("two processes that adjudicate the same disagreement", { timeout: 60_000 }, () => {
  it("save one decision, and show it to the other process, which asks again", async () => {
    const [first] = readJson("results.json").taskResults;
    const lines = ["ann", "ben"].map((annotator, i) =>
      JSON.stringify({ trace: first.traceId, source: "person", label: i === 0 ? "good" : "bad", annotator }),
    );
    write("two.jsonl", lines.join("\n"));
    await done("evals label --mode brief --from two.jsonl --quiet");
    const both = { cat: adjudicator("cat"), dan: adjudicator("dan") };
    await Promise.all(Object.values(both).map((each) => each.asked(1)));
    both.cat.child.stdin.write("g all is there\n");
    both.dan.child.stdin.write("b a date is missing\n");
    const [name, loser] = await Promise.race(
      Object.entries(both).map(async ([who, each]) => {
        await each.asked(2);
        return [who, each] as const;
      }),
    );
    const winner = name === "cat" ? "dan" : "cat";
    const decision = winner === "cat" ? "good" : "bad";
    expect(loser.said()).toContain(winner);
    expect(loser.said()).toMatch(new RegExp(`${winner}.*${decision}|${decision}.*${winner}`));
    loser.child.stdin.end("q\n");
    for (const { child } of Object.values(both)) {
      child.stdin.end();
      if (child.exitCode === null) await once(child, "close");
    }
    const labels = await labelsOf("brief");
    expect(labels.map(({ annotator, label, basis }) => [annotator, label, basis]).sort()).toEqual(
      [
        ["ann", "good", "direct"],
        ["ben", "bad", "direct"],
        [winner, decision, "adjudicated"],
      ].sort(),
    );
  });
});

describe("evals watch next to the label page", { ...needs("browser"), timeout: 120_000 }, () => {
  const browser = new TestBrowser();

  it("counts its anchors while the page saves labels, and no label is lost", { tags: ["slow"] }, async () => {
    const { runId, taskResults } = readJson("results.json");
    write("all.jsonl", labelLines(taskResults, { drawn: "all" }));
    await done("evals label --from all.jsonl --quiet");
    await artE(["evals", "modes", "describe", "overall", "--sentence", "The answer is brief."]);
    await done("evals add brief_rubric --rubric anthropic/claude-haiku-5-5 --quiet");
    await done("evals test brief_rubric@1 --quiet");
    const before = (await labelsOf("overall")).length;

    let judge = () => {};
    judging = new Promise((resolve) => {
      judge = resolve;
    });
    const server = start("serve --port 0");
    const url = await addressOf(server);
    const asked = provider.requests.length;
    const watch = start(`evals watch brief_rubric@1 ${runId} --json --quiet`, variables());
    await provider.received(asked + 1);
    const { page, wrong } = await browser.openServed(`${url}/#label/${runId}?criterion=tone`);
    for (let i = 0; i < 6; i++) {
      await page.locator(".labeling").waitFor();
      await page.locator("[aria-busy=true]").waitFor({ state: "detached" });
      await page.keyboard.press(i % 2 === 0 ? "g" : "b");
      await expect.poll(async () => (await labelsOf("tone")).length).toBe(i + 1);
    }
    expect(watch.child.exitCode).toBeNull();
    judge();
    const { code, stdout, stderr } = await watch.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout).evals).toMatchObject([{ changed: "none", watches: 1, judge: { anchors: { n: 30 } } }]);
    expect(wrong()).toEqual([]);
    const labels = (await labelsOf("tone")).map(({ label }) => label).sort();
    expect(labels).toEqual(["bad", "bad", "bad", "good", "good", "good"]);
    expect(await labelsOf("overall")).toHaveLength(before);
    server.child.kill("SIGINT");
    await server.ended;
  });
});
