import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ListFields, listCondition, listOrder, parseListQuery } from "../../src/store/list-query.js";
import { Database } from "../../src/store/sqlite.js";

const FIELDS: ListFields = {
  name: { kind: "text", sql: "name", help: "" },
  size: { kind: "number", sql: "size", help: "" },
  at: { kind: "date", sql: "at", help: "" },
  state: { kind: "choice", sql: "state", choices: ["on", "off"], help: "" },
  tag: { kind: "set", sql: "SELECT 1 FROM tags WHERE line = lines.name AND tag", help: "" },
};

const db = new Database(":memory:");
db.exec(`CREATE TABLE lines (name, size, at, state); CREATE TABLE tags (line, tag);
  INSERT INTO lines VALUES ('Alpha one', 1, '2026-01-31T10:00:00Z', 'on'), ('beta', 2.5, '2026-02-01T00:00:00Z', 'off'),
    ('gamma', NULL, NULL, NULL);
  INSERT INTO tags VALUES ('beta', 'x'), ('beta', 'y');`);

function found(query: string, sort = ""): unknown[] {
  const { sql, values } = listCondition(parseListQuery(query, FIELDS), FIELDS, "concat(name, ' ', state)");
  const order = listOrder(sort, FIELDS) ?? "rowid";
  return db.prepare(`SELECT substr(name, 1, 1) FROM lines WHERE ${sql} ORDER BY ${order}`).pluck().all(values);
}

describe("a list query", () => {
  it.each([
    ["", "Abg"],
    ["ALPHA", "A"],
    ['"alpha one"', "A"],
    ['"one alpha"', ""],
    ["-alpha", "bg"],
    ["a b", "b"],
    ["name:beta", "b"],
    ["name=alpha", ""],
    ["size<2", "A"],
    ["size:>=1 -size:1", "b"],
    ["size!=1", "bg"],
    ["size:none", "g"],
    ["at:2026-01", "A"],
    ["at>2026-01-31", "b"],
    ["at<=2026-01-31", "A"],
    ["state:on", "A"],
    ["tag:x tag:y", "b"],
    ["tag:none", "Ag"],
    ["-tag:none", "b"],
    ['name:"alpha o', "A"],
    ["12:30", ""],
  ])("%s selects the lines that fulfill every condition", (query, names) => {
    expect(found(query).join("")).toBe(names.replace(/ /g, ""));
  });

  it("sorts missing values last in both directions", () => {
    expect([found("", "size").join(""), found("", "-size").join("")]).toEqual(["Abg", "bAg"]);
  });

  it.each(["modle:x", "size:big", "at:soon", "state:maybe", "name<b", "name:"])("rejects %s with a hint", (query) => {
    expect(() => parseListQuery(query, FIELDS)).toThrow(expect.objectContaining({ hint: expect.stringMatching(/\w/) }));
  });

  it("treats any text as a search or rejects it, and never as SQL", () => {
    const part = fc.oneof(
      fc.string(),
      fc.constantFrom("name:", '"', "'", "-", "--", ";", "size<", ") OR 1=1", "@q0", "tag!="),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        try {
          expect(found(parts.join("")).length).toBeLessThanOrEqual(3);
        } catch (error) {
          expect(error).toMatchObject({ code: "filter_invalid" });
        }
      }),
    );
  });
});
