// The emails that were read to measure the tasks about the future, and the figures that the docs state about them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AGREEMENT_COLUMNS, agreementRows, type Label, readLabels } from "../../bench/future-labels.js";
import { SELECTION_KINDS } from "../../src/tasks/selection.js";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/future-tasks.md"), "utf8");

describe("the labeled emails", () => {
  const labels = readLabels();

  it("contain at least 200, more than half of them read without the verdict of the rule", () => {
    expect(labels.length).toBeGreaterThanOrEqual(200);
    expect(labels.filter(({ blind }) => blind === "yes").length).toBeGreaterThan(labels.length / 2);
    expect(new Set(labels.map(({ id, kind }) => `${id} ${kind}`)).size).toBe(labels.length);
  });

  it("have a mailbox, a day, a kind and decisions", () => {
    const values = (key: keyof Label) => [...new Set(labels.map((label) => label[key]))].sort();
    expect(values("kind")).toEqual([...SELECTION_KINDS].sort());
    expect([values("rule"), values("read"), values("blind")]).toEqual([
      ["no", "yes"],
      ["no", "unknown", "yes"],
      ["again", "no", "yes"],
    ]);
    expect(labels.filter(({ mailbox, date }) => !/^\S+@\S+ \d{4}-\d\d-\d\d$/.test(`${mailbox} ${date}`))).toEqual([]);
  });

  it.each(agreementRows(labels))("agree with the rules as the docs state for %s, %s", (kind, ...cells) => {
    expect(PAGE).toContain(`| ${AGREEMENT_COLUMNS.join(" | ")} |`);
    expect(PAGE).toContain(`| \`${kind}\` | ${cells.join(" | ")} |`);
  });
});

describe("agreementRows", () => {
  const label = (rule: string, read: string, blind = "no"): Label => {
    return { id: "<1@x>", mailbox: "ann@x", date: "2001-05-14", kind: "needs-reply", rule, read, blind };
  };

  it("counts agreement, with the emails that the rules call right apart, and leaves out undecided ones", () => {
    const [all, blind] = agreementRows([
      ...[label("yes", "yes"), label("yes", "no"), label("no", "no", "yes"), label("no", "yes", "yes")],
      ...[label("no", "unknown"), label("yes", "yes", "yes"), label("no", "no", "again")],
    ]);
    const shares = (cells: readonly string[] = []) => cells.slice(2).map((cell) => cell.replace(/ \[.*\]/, ""));
    expect(shares(all)).toEqual(["0.667 n=6", "0.667 n=3", "0.667 n=3", "0.667"]);
    expect(shares(blind)).toEqual(["0.667 n=3", "1.000 n=1", "0.500 n=2", "0.667"]);
  });
});
