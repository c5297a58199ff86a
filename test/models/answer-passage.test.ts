import { describe, expect, it } from "vitest";
import { pickPassage } from "../../src/models/providers/offline/answer-passage.js";

describe("pickPassage", () => {
  const short = { messageId: "<short>", subject: "Storage", text: "The storage capacity in Reno is 250." };
  const long = {
    messageId: "<long>",
    subject: "Newsletter",
    text: "Storage fills up.\n\nA new hotel opens in Reno.\n\nCapacity is scarce.\n\nMay brings rain.\n\nSouth of it, sun.",
  };
  const question = "What is the storage capacity in Reno in May in the South?";

  it("prefers the email with the best passage to one that has more query words in other places", () => {
    expect(pickPassage(question, [short, long], [])?.mail).toBe(short);
  });

  it("takes a lower-ranked email whose passage fits clearly better", () => {
    expect(pickPassage(question, [long, short], [])).toEqual({ mail: short, passage: short.text });
  });
});
