import { expect, it } from "vitest";
import { ownText } from "../../src/mail/email.js";

it.each([
  ["Yes, at noon.\n\n-----Original Message-----\nFrom: Bo", "Yes, at noon."],
  ["Fine.\n> when?", "Fine."],
  ["On May 1 Bo Kim wrote:\nold", ""],
  ["nothing quoted", "nothing quoted"],
])("the own text of %j is %j", (body, own) => expect(ownText(body)).toBe(own));
