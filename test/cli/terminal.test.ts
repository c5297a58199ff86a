import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { pack } from "tar-stream";
import { describe, expect, it } from "vitest";
import { type ProgressState, progressLine, progressText } from "../../src/cli/progress.js";
import { MAIL, QUESTIONS, workFolder } from "./art-e.js";

describe("the terminal output", () => {
  /** Text from others must not control the terminal that it is printed on. */

  const { artE, path } = workFolder({ mail: MAIL });
  /** Colors, a new window title, and the same with a one-byte C1 prefix. */
  const EVIL = "\u001b[31mred\u001b]0;title\u0007\u009b2J\u007f";

  // biome-ignore lint/suspicious/noControlCharactersInRegex: the output is searched for them.
  const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;

  it.each([401, 400, 200])("escapes a provider's error (%s)", async (status) => {
    const server = createServer((_, response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(status === 200 ? EVIL : { error: { message: `refused: ${EVIL}`, type: EVIL } }));
    });
    await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const variables = { ANTHROPIC_API_KEY: "k-1234", ANTHROPIC_BASE_URL: url };
    const line = `--model-id anthropic/claude-sonnet-4-5 --request-timeout 5 --max-turns 1`;
    const run = await artE(
      `run -a email-search --dataset ${QUESTIONS} -l 1 --no-judge --no-progress --task-timeout 2 ${line}`,
      variables,
    );
    const shown = await artE("export-traces");
    expect(run.stdout + run.stderr + shown.stdout).not.toMatch(CONTROL);
    if (status === 401) expect(run.stderr).toContain("refused: ␛[31mred");
    server.close().closeAllConnections();
  });

  it("escapes the name of an archive entry that --strict reports", async () => {
    const archive = pack();
    archive.entry({ name: `maildir/${EVIL}/inbox/1.` }, "not a mail");
    archive.finalize();
    writeFileSync(path("evil.tar"), await buffer(archive));
    const { code, stderr } = await artE("import evil.tar --strict --db evil.db");
    expect([code, stderr]).toEqual([1, expect.not.stringMatching(CONTROL)]);
    expect(stderr).toContain("maildir/␛[31mred");
  });

  it("escapes the name, description and prompt of an agent and a tool", async () => {
    const words = ["--name", EVIL, "--description", EVIL];
    const agent = await artE(["agents", "create", "evil", "--prompt", EVIL, ...words]);
    const tool = await artE([
      "tools",
      "add",
      "evil",
      "--command",
      "true",
      "--parameters",
      '{"type":"object"}',
      ...words,
    ]);
    expect([agent.code, tool.code]).toEqual([0, 0]);
    for (const line of ["agents list", "agents show evil", "agents versions evil", "tools list", "tools show evil"]) {
      for (const json of ["", " --json"]) {
        const { code, stdout, stderr } = await artE(line + json);
        expect([line, code]).toEqual([line, 0]);
        expect(stdout + stderr).not.toMatch(CONTROL);
        if (json !== "") JSON.parse(stdout);
      }
    }
  });

  it("escapes an unknown name in an error", async () => {
    const { code, stderr } = await artE(["agents", "show", EVIL]);
    expect([code, stderr]).toEqual([2, expect.not.stringMatching(CONTROL)]);
  });
});

const STATE: ProgressState = {
  title: "Answering",
  done: 12,
  total: 100,
  elapsedMs: 6_000,
  main: "semantic 0.412  12/100  $0.0123",
  more: ["1 failed", "", "3 running, 5 waiting for a slot", "12,345 tokens"],
};

describe("the progress line", () => {
  it("shows the essentials, a bar in the remaining space, and the rest if there is room", () => {
    const main = "12%  semantic 0.412  12/100  $0.0123  44.0 s left";
    expect(progressLine(STATE, 76)).toBe(`Answering ██░░░░░░░░░░░░░░ ${main}`);
    expect(progressLine(STATE, 100)).toMatch(/^Answering █+░+ 12% .+ left {2}1 failed$/);
    expect(progressLine(STATE, 200)).toBe(
      `Answering ███░░░░░░░░░░░░░░░░░░░░░ ${main}  1 failed  3 running, 5 waiting for a slot  12,345 tokens`,
    );
  });

  it.each([10, 40, 60, 66, 70, 80, 90, 120])("never exceeds %i columns", (columns) => {
    expect(progressLine(STATE, columns).length).toBeLessThanOrEqual(columns);
  });

  it("omits the bar, then the title, if the terminal is too narrow", () => {
    expect(progressLine(STATE, 62)).toMatch(/^Answering 12% {2}semantic/);
    expect(progressLine(STATE, 52)).toMatch(/^12% {2}semantic .+ left$/);
    expect(progressLine(STATE, 19)).toBe("12%  semantic 0.412");
  });

  it("omits bar, percentage and remaining time if the total is unknown", () => {
    const state = { title: "Reading", done: 5, total: null, elapsedMs: 1_000, main: "5 mails" };
    expect(progressLine(state, 80)).toBe("Reading 5 mails");
    expect(progressLine({ ...state, done: 0, total: 0, main: "" }, 30)).toMatch(/^Reading ░+ $/);
  });

  it("shows why work is held up instead of the remaining time", () => {
    const held = "Waiting: 429; next try in 4 s";
    expect(progressText({ ...STATE, held, more: [] })).toBe(
      "Answering 12%  Waiting: 429; next try in 4 s  semantic 0.412  12/100  $0.0123",
    );
  });

  it("shows control characters in a visible form", () => {
    expect(progressLine({ ...STATE, title: "\u001b[2J" }, 80)).not.toContain("\u001b");
    expect(progressText({ ...STATE, more: ["\u001b[2J"] })).not.toContain("\u001b");
  });

  it("contains everything if it is written to a log", () => {
    expect(progressText(STATE)).toBe(
      "Answering 12%  semantic 0.412  12/100  $0.0123  44.0 s left  1 failed  3 running, 5 waiting for a slot  12,345 tokens",
    );
  });
});
