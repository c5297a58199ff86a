import { beforeAll, describe, expect, it } from "vitest";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { totalsSchema } from "../results-schema.js";

const { artE, write } = workFolder({ mail: MAIL });

const RULE = "═".repeat(60);

function row(id: number, inbox: string, realism: number, mails: number, day: string): string {
  const message_ids = Array.from({ length: mails }, (_, i) => `<${id}.${i}@example.com>`);
  const rest = { question: "Who?", answer: "Kim", how_realistic: realism, inbox_address: inbox, query_date: day };
  return `${JSON.stringify({ id, ...rest, message_ids })}\n`;
}

beforeAll(() => {
  write(
    "small_test.jsonl",
    row(1, "a@example.com", 0.7, 1, "2001-05-14") +
      row(2, "b@example.com", 1, 2, "2000-01-02") +
      row(3, "A@example.com", 0.75, 4, "2001-12-31"),
  );
});

describe("art-e stats of a dataset", () => {
  it("prints the published runner's box with two additional lines", async () => {
    const box = [
      RULE,
      "ART-E Dataset Statistics (test split)",
      RULE,
      "Total tasks:              3",
      "Unique inboxes:           2",
      "Avg realistic score:      0.817",
      "Avg message IDs per task: 2.3",
      "Dates of the questions:   2000-01-02 to 2001-12-31",
      "Realistic score:          0.7-0.8: 2, 0.9-1: 1",
      RULE,
      "",
    ].join("\n");
    const shown = { code: 0, stdout: box, stderr: "" };
    expect(await artE("stats --dataset small_test.jsonl")).toEqual(shown);
    expect(await artE("run --stats --csv-path small_test.jsonl --db no.db")).toEqual(shown);
  });

  it("prints one document, including the source of the questions, if --json is given", async () => {
    const { stdout } = await artE("stats --dataset small_test.jsonl --json");
    expect(JSON.parse(stdout)).toMatchObject({
      split: "test",
      totalTasks: 3,
      uniqueInboxes: 2,
      averageRealism: expect.closeTo(0.8167, 4),
      averageMessageIds: expect.closeTo(7 / 3, 12),
      firstDate: "2000-01-02",
      lastDate: "2001-12-31",
      source: expect.stringMatching(/small_test\.jsonl$/),
      revision: null,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });
});

describe("art-e stats of the mail", () => {
  it("prints the number of emails, their dates and their owners", async () => {
    const { code, stdout } = await artE("stats --corpus");
    expect(code).toBe(0);
    expect(stdout.replace(/[0-9a-f]{64}/, "#")).toBe(
      [
        RULE,
        "ART-E Corpus (./art-e.db)",
        RULE,
        "Messages:                516",
        "Distinct emails:         311",
        "Mailboxes:               3",
        "Folders without address: 0",
        "Addresses:               89",
        "Dates:                   0001-01-01 to 2044-01-04",
        "Fingerprint:             #",
        RULE,
        "",
      ].join("\n"),
    );
  });

  it("prints one document with the documented fields if --json is given", async () => {
    const { stdout } = await artE("stats --corpus --json");
    expect(JSON.parse(stdout)).toEqual({
      messages: 516,
      distinct: 311,
      inboxes: 3,
      unresolvedOwners: 0,
      addresses: 89,
      firstDate: expect.stringMatching(/^0001-01-01T/),
      lastDate: expect.stringMatching(/^2044-01-04T/),
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });
});

describe("art-e stats of runs", () => {
  const run = `run -a baseline --dataset ${QUESTIONS} -l 2 --quiet`;

  it("lists runs newest first with --runs, and shows one run by its id prefix or as latest with --run", async () => {
    const first = JSON.parse((await artE(`${run} --json`)).stdout).runId;
    const summary = (await artE(`${run}`)).stdout;
    const lines = (await artE("stats --runs")).stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^run +agent +model +dataset +status +tasks +score +cost +started +tags$/);
    expect(lines).toHaveLength(6);
    expect(lines[3]).toMatch(
      new RegExp(`^${first} +baseline +offline/baseline +questions.jsonl test +completed +2/2 +`),
    );

    const timeless = (text: string) => text.replace(/Total time: .+/, "").replace(/(Results|Traces|Evals): .+\n/g, "");
    expect(timeless((await artE("stats --run latest")).stdout)).toBe(timeless(summary));
    const byBeginning = await artE(`stats --run ${first.slice(0, -1)} --json`);
    expect(totalsSchema.parse(JSON.parse(byBeginning.stdout))).toMatchObject({ runId: first, totalTasks: 2 });
  });

  it("rejects an id prefix that several runs share", async () => {
    const { code, stderr } = await artE("stats --run run_");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^art-e: More than one run starts with "run_"\.\n {7}\S/);
  });
});
