import { expect, it } from "vitest";
import { plainSubject, subjectKey } from "../../src/mail/subject.js";

it.each([
  ["Re: Fwd: Budget", "Budget"],
  ["AW: WG: Budget", "Budget"],
  ["RE[2]: Re (3): re^4: Budget", "Budget"],
  ["Vá: Költségvetés", "Költségvetés"],
  ["ΑΠ: πρθ: Προϋπολογισμός", "Προϋπολογισμός"],
  ["رد: إعادة توجيه: الميزانية", "الميزانية"],
  ["回复：预算", "预算"],
  ["[staff] Re: Budget (fwd)", "Budget"],
  ["[staff] Budget", "[staff] Budget"],
  ["Report: Re: Budget", "Report: Re: Budget"],
  ["Resume: Ann", "Resume: Ann"],
  [" Re: ", ""],
])("the subject %j is %j without prefixes", (subject, plain) => {
  expect(plainSubject(subject)).toBe(plain);
  expect(subjectKey(subject)).toEqual({ key: plain.toLowerCase(), isContinued: plain !== subject.trim() });
});
