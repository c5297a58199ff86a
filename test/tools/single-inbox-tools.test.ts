import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/platform/json.js";
import { addInboxArgument } from "../../src/tools/load-tools.js";

const object = (properties: JsonObject): { parameters: JsonObject } => ({
  parameters: { type: "object", properties, required: [] },
});
const WITH = object({ inbox_id: { type: "string" }, q: { type: "string" } });
const INBOX = "ann@plains.example";

describe("the mailbox is filled in", () => {
  test("for a tool that asks for one, where the caller named none", () => {
    expect(addInboxArgument(WITH, { q: "x" }, INBOX)).toEqual({ inbox_id: INBOX, q: "x" });
    expect(addInboxArgument(WITH, { q: "x", inbox_id: "ben@plains.example" }, INBOX)).toEqual({
      q: "x",
      inbox_id: "ben@plains.example",
    });
  });

  test.each([
    ["for a tool that asks for none", object({ q: { type: "string" } }), { q: "x" }, INBOX],
    ["for arguments that are no object", WITH, "x", INBOX],
    ["outside a mailbox", WITH, { q: "x" }, null],
    ["for a tool whose parameters are not those of one", { parameters: { type: "object" } }, { q: "x" }, INBOX],
  ])("but not %s", (_, tool, args, inbox) => {
    expect(addInboxArgument(tool, args, inbox)).toEqual(args);
  });
});
