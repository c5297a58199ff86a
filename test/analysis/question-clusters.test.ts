import { describe, expect, it } from "vitest";
import { type ClusteredQuestion, clustersOf } from "../../src/analysis/question-clusters.js";
import type { TaskId } from "../../src/tasks/question.js";

function clusters(questions: readonly (readonly [inbox: string, ...topics: string[]])[]) {
  const byId = new Map<TaskId, ClusteredQuestion>(questions.map(([inbox, ...topics], id) => [id, { inbox, topics }]));
  const { by, n, mailboxes, of } = clustersOf(byId);
  return { by, n, mailboxes, groups: [...byId.keys()].map(of) };
}

const inboxes = (...sizes: number[]) =>
  sizes.flatMap((size, box) => Array.from({ length: size }, () => [`${box}@example.org`] as const));

describe("clustersOf", () => {
  it("takes mailboxes as clusters from ten mailboxes of about the same size", () => {
    expect(clusters(inboxes(...Array(10).fill(4)))).toMatchObject({ by: "mailbox", n: 10, mailboxes: 10 });
    expect(clusters(inboxes(...Array(9).fill(4)))).toMatchObject({ by: "thread", n: 36, mailboxes: 9 });
  });

  it("counts unequal mailboxes as fewer", () => {
    expect(clusters(inboxes(90, ...Array(12).fill(1))).by).toBe("thread");
    expect(clusters(inboxes(6, ...Array(19).fill(4))).by).toBe("mailbox");
  });

  it("joins questions that share a gold email, also through another question", () => {
    const { n, groups } = clusters([["a", "<1>"], ["a", "<2>"], ["b", "<2>", "<1>"], ["a", "<3>"], ["a"], ["a"]]);
    expect(new Set(groups.slice(0, 3)).size).toBe(1);
    expect(n).toBe(4);
  });

  it("joins the two wordings of a suite task, and has no mailboxes for suites", () => {
    const pair = ["", "a b"] as const;
    expect(clusters([pair, pair, ["", "c d"]])).toMatchObject({ by: "thread", n: 2 });
    expect(clusters(Array.from({ length: 20 }, (_, i) => ["", String(i)] as const))).toMatchObject({ mailboxes: 0 });
  });
});
