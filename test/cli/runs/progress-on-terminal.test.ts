import { afterEach, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { demoQuestions, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { openTerminal, type TerminalScreen } from "../terminal-screen.js";

const { path } = workFolder({ mail: MAIL });

let provider: FakeProvider;
let terminal: TerminalScreen;
afterEach(() => {
  terminal.close();
  return provider.close();
});

const ANSWERED = demoQuestions.slice(0, 2);

/** Answers two questions, and leaves every other waiting. */
const stalling = () =>
  startFakeProvider((request) => {
    const known = ANSWERED.find(({ question }) => question === request.question);
    return known === undefined ? { fail: "silence" } : { content: known.answer };
  });

const RUN = `run -a email-search --dataset ${QUESTIONS} -l 40 --concurrency 2 --no-judge`;

/** The line that the progress is on. */
const progressOf = (screen: string) => screen.split("\n").findLast((line) => line.includes("Answering ")) ?? "";

describe("the progress of a run on a terminal", needs("terminal"), () => {
  it.each([80, 120])("fits %i columns, and is gone after Ctrl-C", async (columns) => {
    provider = await stalling();
    terminal = openTerminal(path("."), columns, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });
    terminal.run(RUN);
    const screen = await terminal.until((shown) => progressOf(shown).includes(" 2/40 "));
    const line = progressOf(screen);
    expect(line).toMatch(/^Answering [█░]{4,} 5 % {2}semantic 1\.000 {2}2\/40 {2}\$\d\.\d+ {2}.+ left/);
    expect(line.length).toBeLessThan(columns);
    if (columns === 120) expect(line).toContain("  2 running  240 tokens");

    terminal.press("C-c");
    const stopping = await terminal.until((shown) => shown.includes("Stopping: 2 tasks under way"));
    expect(progressOf(stopping.slice(stopping.indexOf("Stopping: ")))).not.toBe("");
    terminal.press("C-c");
    const ended = await terminal.until((shown) => /Go on with: .*\n\$$/.test(shown));
    expect(ended).not.toContain("Answering ");
    expect(ended).not.toContain("^C");
    expect(ended).toMatch(/Stopping: 2 tasks under way will be finished; once more to stop now\.\n═+\n/);
  });
});
