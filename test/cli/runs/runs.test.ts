import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openReadOnly } from "../../../src/store/open-store.js";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { demoQuestions, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { openTerminal, type TerminalScreen } from "../terminal-screen.js";

describe("commands about runs", () => {
  const { artE, path } = workFolder({ mail: MAIL });
  const RUN = `run -a baseline --dataset ${QUESTIONS} --quiet --json`;
  let provider: FakeProvider;
  /** A run of three tasks without failures, and one of two failed tasks. */
  let good: string;
  let failed: string;

  beforeAll(async () => {
    provider = await startFakeProvider(() => ({ fail: "status", status: 400, message: "no" }));
    good = JSON.parse((await artE(`${RUN} -l 3`)).stdout).runId;
    const variables = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url };
    const { code, stdout } = await artE(`run -a email-search --dataset ${QUESTIONS} --quiet --json -l 2`, variables);
    expect(code).toBe(3);
    failed = JSON.parse(stdout).runId;
  });

  afterAll(() => provider.close());

  const json = async (line: string) => JSON.parse((await artE(`${line} --json`)).stdout);

  describe("art-e runs list", () => {
    it("shows figures that each run stored at its end", () => {
      const db = openReadOnly(path("art-e.db"));
      const stored = db.prepare("SELECT run_id, tasks, failed_tasks FROM run_summaries").raw().all();
      db.close();
      expect(stored).toEqual(
        expect.arrayContaining([
          [good, 3, 0],
          [failed, 2, 2],
        ]),
      );
    });

    it("sorts by a field, in descending order with a dash before it", async () => {
      const ids = async (sort: string) => (await json(`runs list --sort ${sort}`)).map(({ id }: { id: string }) => id);
      expect(await ids("tasks")).toEqual([failed, good]);
      expect(await ids("-tasks")).toEqual([good, failed]);
    });

    it("shows each run's score, cost and progress, newest first, and says if no judge was used", async () => {
      const { code, stdout } = await artE("runs list");
      expect(code).toBe(0);
      const [heading, , newest, oldest, empty, note] = stdout.split("\n");
      expect(heading).toMatch(/^run +agent +model +dataset +status +tasks +score +cost +started +tags$/);
      expect(newest).toMatch(
        new RegExp(`^${failed} +email-search +anthropic/\\S+ +questions.jsonl test +completed +2/2, 2 failed +- +`),
      );
      expect(oldest).toMatch(
        new RegExp(
          `^${good} +baseline +offline/baseline +questions.jsonl test +completed +3/3 +0\\.\\d{3} \\[0\\.\\d+, 0\\.\\d+\\]\\* +\\$0\\.00 +\\d{4}-`,
        ),
      );
      expect([empty, note]).toEqual(["", expect.stringMatching(/^\* Not judged: the score is/)]);
    });

    it("shows the most frequent error in the totals of a run", async () => {
      expect((await artE(`stats --run ${failed}`)).stdout).toMatch(/^Errors: +.*400.* \(2 tasks\)$/m);
      expect((await json(`stats --run ${failed}`)).mostFrequentError).toMatchObject({ tasks: 2 });
      expect(await json(`stats --run ${good}`)).not.toHaveProperty("mostFrequentError");
    });

    it("shows the same headline score as the run's own totals", async () => {
      const [, listed] = await json("runs list");
      const { scores, costUsd, completedTasks } = await json(`stats --run ${good}`);
      const { value, low, high, n } = scores.sourcesCorrect;
      expect(listed.headline).toMatchObject({ scorer: "sourcesCorrect", value, low, high, n });
      expect(listed).toMatchObject({ costUsd, completedTasks, id: good });
    });

    it("lists only matching runs, and says how many others there are", async () => {
      expect(await json("runs list --agent baseline --status completed")).toHaveLength(1);
      expect((await artE("runs list --status running")).stdout).toBe("No run matches.\n");
      expect((await artE("runs list --limit 1")).stderr).toBe("1 further runs are not shown. List all: --limit 0.\n");
      const { code, stderr } = await artE("runs list --status dead");
      expect([code, stderr.split("\n")[0]]).toEqual([
        2,
        "art-e: --status: expected running or completed or interrupted.",
      ]);
    });
  });

  describe("art-e runs show", () => {
    it("shows the latest run, even if all of its tasks failed", async () => {
      expect((await artE("runs show")).stdout).toMatch(new RegExp(`Run: +${failed}`));
      expect((await artE("export-traces --run latest --failed")).stdout.trim().split("\n")).toHaveLength(2);
    });

    it("shows a run, its worst task first, with a hint that works", async () => {
      const { stdout } = await artE(`runs show ${good}`);
      expect(stdout).toContain(`Run:               ${good}`);
      const scores = [...stdout.matchAll(/^\d+ +\w+ +(\d\.\d{3}) /gm)].map(([, score]) => Number(score));
      expect(scores).toHaveLength(3);
      expect(scores).toEqual([...scores].sort((a, b) => a - b));
      const [, hint = ""] = /Show a complete task: art-e (.+)/.exec(stdout) ?? [];
      expect((await artE(hint)).code).toBe(0);
    });

    it("lists failed tasks first, and shows no score for them", async () => {
      const { tasks, headline } = await json(`runs show ${failed}`);
      expect(headline).toBeNull();
      expect(tasks).toHaveLength(2);
      expect(tasks[0]).toMatchObject({ failed: true, ending: "model_error", score: null });
    });
  });

  describe("names, notes and tags of runs", () => {
    it("can be searched for, and other commands accept them instead of an id", async () => {
      expect((await artE(["runs", "rename", good, "before the fix"])).stdout).toBe(
        `Run ${good} is named "before the fix".\n`,
      );
      expect((await artE(["runs", "note", "before the fix", "prompt 3"])).stdout).toBe(`Run ${good}: prompt 3\n`);
      expect((await artE(`runs tag ${good} nightly ci`)).stdout).toBe(`Tags of run ${good}: ci, nightly\n`);
      expect((await artE(`runs tag ${good} ci --remove`)).stdout).toBe(`Tags of run ${good}: nightly\n`);
      expect(await json("runs list --tag nightly --text PROMPT")).toMatchObject([
        { id: good, name: "before the fix", note: "prompt 3", tags: ["nightly"] },
      ]);
      expect(JSON.parse((await artE(["stats", "--run", "before the fix", "--json"])).stdout).runId).toBe(good);
      expect((await artE(["runs", "show", "before the fix"])).stdout).toContain("Note:              prompt 3");
    });

    it.each([
      [["rename", "RUN", "latest"], 'NAME: "latest" is not a valid run name.'],
      [["rename", "RUN", "run_1"], 'NAME: "run_1" is not a valid run name.'],
      [["rename", "RUN", "results.json"], 'NAME: "results.json" is not a valid run name.'],
      [["rename", "RUN", "a\nb"], "is not a valid run name."],
      [["rename", "run_none", "x"], 'Unknown run "run_none"'],
      [["rename", "RUN"], "is not a valid run name."],
      [["rename"], "NAME: expected a name, or --remove."],
      [["note", "RUN", "x", "--remove"], "NOTE: expected a note, or --remove."],
      [["tag", "RUN", "two words"], 'TAGS: "two words" is not a valid tag.'],
    ])("cause an error (%j)", async (line, message) => {
      const { code, stderr } = await artE(["runs", ...line.map((part) => (part === "RUN" ? failed : part))]);
      expect(code).toBe(2);
      expect(stderr).toContain(message);
    });

    it("belong to one run until they are removed", async () => {
      await artE(["runs", "rename", good, "mine"]);
      const { code, stderr } = await artE(["runs", "rename", failed, "mine"]);
      expect([code, stderr.split("\n")[0]]).toEqual([2, `art-e: Run ${good} already has the name "mine".`]);
      expect((await artE(["runs", "rename", good, "--remove"])).stdout).toBe(`Run ${good} no longer has a name.\n`);
      expect((await artE(["runs", "rename", failed, "mine"])).code).toBe(0);
      await artE(["runs", "rename", failed, "--remove"]);
    });
  });

  describe("art-e runs delete and prune", () => {
    it("only list the runs if --yes is missing, and otherwise delete them with their traces", async () => {
      const { runId } = await json(`${RUN} -l 2`);
      const listed = await artE(`runs delete ${runId}`);
      expect(listed.stdout).toMatch(/1 run would be deleted\. Pass --yes to delete them\.\n$/);
      expect((await artE(`show ${runId}/1`)).code).toBe(0);
      expect((await artE(`runs delete ${runId} --yes`)).stdout).toMatch(/1 run deleted, with results and traces\.\n$/);
      expect((await artE(`show ${runId}/1`)).code).toBe(2);
      expect((await artE("runs delete latest --yes")).stderr).toContain("cannot delete latest");
    });

    it("delete matching runs, except for the newest N and all labeled ones", async () => {
      await artE(["runs", "note", good, "keep me"]);
      const ids = [];
      for (const _ of [1, 2, 3]) ids.push((await json(`${RUN} -l 1`)).runId);
      const { runs, deleted } = await json("runs prune --agent baseline --keep 1");
      expect(deleted).toBe(false);
      expect(runs.map(({ id }: { id: string }) => id)).toEqual([ids[1], ids[0]]);
      expect((await json("runs prune --agent baseline --keep 1 --yes")).deleted).toBe(true);
      expect((await json("runs list --agent baseline")).map(({ id }: { id: string }) => id)).toEqual([ids[2], good]);
      expect((await json("runs prune --empty --yes")).runs).toMatchObject([{ id: failed }]);
      expect((await artE("runs prune --yes")).stderr).toContain("runs prune: a filter is required.");
    });
  });

  describe("art-e run --name", () => {
    it("names a new run, and must be different for its repeat", async () => {
      const named = JSON.parse((await artE([...`${RUN} -l 1 --name`.split(" "), "first try"])).stdout);
      expect(JSON.parse((await artE(["runs", "show", "first try", "--json"])).stdout)).toMatchObject({
        name: "first try",
        totals: { runId: named.runId },
      });
      const again = JSON.parse((await artE(`run --repeat ${named.runId} --name second --quiet --json`)).stdout);
      expect((await json("runs list --limit 1"))[0]).toMatchObject({ id: again.runId, name: "second" });
    });

    it.each([
      [`${RUN} -l 1 --name second`, /^Run run_\S+ already has the name "second"\.$/],
      [`${RUN} -l 1 --name latest`, /^--name: "latest" is not a valid run name\.$/],
      ["run --resume latest --name third --json", /^--name names a new run, but --resume continues an existing one\.$/],
    ])("rejects %s before the first request", async (line, message) => {
      const before = await json("runs list --limit 0");
      const { code, stderr } = await artE(line);
      expect({ code, message: JSON.parse(stderr).error.message }).toEqual({
        code: 2,
        message: expect.stringMatching(message),
      });
      expect(await json("runs list --limit 0")).toHaveLength(before.length);
    });
  });
});

describe("progress in a terminal", () => {
  const { path } = workFolder({ mail: MAIL });
  let provider: FakeProvider;
  let terminal: TerminalScreen;

  afterEach(() => {
    terminal.close();
    return provider.close();
  });

  const ANSWERED = demoQuestions.slice(0, 2);

  /** Answers two questions, and lets all others wait. */
  const stalling = () =>
    startFakeProvider((request) => {
      const known = ANSWERED.find(({ question }) => question === request.question);
      return known === undefined ? { fail: "silence" } : { content: known.answer };
    });

  const RUN = `run -a email-search --dataset ${QUESTIONS} -l 40 --concurrency 2 --no-judge`;
  /** The progress line, which in 80 columns begins with the fraction while the run stops. */
  const progressOf = (screen: string) => screen.split("\n").findLast((line) => /Answering |^\d+% /.test(line)) ?? "";

  describe("a run's progress", needs("terminal"), () => {
    it.each([80, 120])("fits %i columns, and disappears after Ctrl-C", async (columns) => {
      provider = await stalling();
      terminal = openTerminal(path("."), columns, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });
      terminal.run(RUN);
      const screen = await terminal.until((shown) => progressOf(shown).includes(" 2/40 "));
      const line = progressOf(screen);
      expect(line).toMatch(/^Answering [█░]{4,} 5% {2}sources 0\.000 {2}2\/40 {2}\$\d\.\d+ {2}.+ left/);
      expect(line.length).toBeLessThan(columns);
      if (columns === 120) expect(line).toContain("  2 running  240 tokens");

      terminal.press("C-c");
      await terminal.until((shown) => {
        const at = shown.indexOf("Stopping: 2 tasks in flight");
        return at >= 0 && progressOf(shown.slice(at)) !== "";
      });
      terminal.press("C-c");
      const ended = await terminal.until((shown) => /Continue: .*\n\$$/.test(shown));
      expect(progressOf(ended)).toBe("");
      expect(ended).not.toContain("^C");
      expect(ended).toMatch(
        /Stopping: 2 tasks in flight will be finished\. Press Ctrl-C again to stop immediately\.\n═+\n/,
      );
    });
  });
});
