import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { questionSchema } from "../../../src/tasks/question.js";
import { demoQuestions, jsonLines, MAIL, workFolder } from "../art-e.js";

/** The command that serves the page of a review, over HTTP; the page itself is tested in a browser. */

const { artE, read, start, write } = workFolder({ mail: MAIL });

describe("questions review", () => {
  it("serves a dataset of any form on this machine, and ends with what was decided", async () => {
    write("my.json", JSON.stringify(demoQuestions.slice(0, 3)));
    const { child, ended } = start("questions review my.json --no-open");
    let url = "";
    for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
      url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? "";
      if (url !== "") break;
    }
    const post = (id: number, body: object) =>
      fetch(`${url}/api/review/questions/${id}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const [first, second] = demoQuestions;
    expect((await post(first?.id ?? 0, { decision: "accepted", seen: null })).status).toBe(200);
    const edited = { question: "Which one?", answer: "This one" };
    expect((await post(second?.id ?? 0, { decision: "edited", edited, seen: null })).status).toBe(200);
    expect((await post(second?.id ?? 0, { decision: "rejected", seen: null })).status).toBe(409);
    expect((await post(second?.id ?? 0, { decision: "accepted", edited, seen: null })).status).toBe(400);
    expect((await post(999_999, { decision: "accepted", seen: null })).status).toBe(404);
    child.kill("SIGINT");
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(stdout).toContain("art-e run --agent baseline --dataset my.reviewed.jsonl --limit 0");
    expect(stdout).toMatch(/To decide: +1\nSame as the checks: +0\.500 \[/);
    const kept = [first, { ...second, ...edited }].map((question) => questionSchema.parse(question));
    expect(jsonLines(read("my.reviewed.jsonl"))).toEqual(kept);
    expect(await artE("run -a baseline --dataset my.reviewed.jsonl -l 0 --quiet")).toMatchObject({ code: 0 });
  });

  it.each([
    ["a file that is not there", "none.jsonl", /no such file/],
    ["decisions that cannot be read", "broken.jsonl", /broken\.review\.jsonl cannot be used: line 1: id:/],
    ["a reviewed dataset that is another's", "taken.jsonl", /taken\.reviewed\.jsonl exists/],
  ])("refuses %s", async (_, file, message) => {
    for (const name of ["broken.jsonl", "taken.jsonl"]) write(name, JSON.stringify(demoQuestions[0]));
    write("broken.review.jsonl", '{"decision":"accepted"}\n');
    write("taken.reviewed.jsonl", "mine\n");
    const { code, stderr } = await artE(`questions review ${file} --no-open`);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(read("taken.reviewed.jsonl")).toBe("mine\n");
  });
});
