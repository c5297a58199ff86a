import { describe, expect, it } from "vitest";
import { ownText } from "../../src/mail/email.js";

const OLD = "The old text of the other person.";

/** A reply above a quotation that starts with these lines. */
const replyAbove = (...quotation: string[]) => ["My answer.", "", ...quotation, "", OLD].join("\n");

describe("ownText", () => {
  it.each([
    ["English", "On Mon, May 14, 2001 at 10:00 AM, Cy Old <cy@x.example> wrote:"],
    ["English on two lines", "On Mon, May 14, 2001 at 10:00 AM, Cy Oldenburger\n<cy@x.example> wrote:"],
    ["English on three lines", "On Mon, May 14, 2001\nat 10:00 AM, Cy Oldenburger\n<cy@x.example> wrote:"],
    ["Yahoo", "--- Cy Old <cy@x.example> wrote:"],
    ["only a name", "Cy Old wrote:"],
    ["a date at the end", "Cy Old <cy@x.example> wrote on 14 May 2001 10:00:"],
    ["German", "Am 14.05.2001 um 10:00 schrieb Cy Old:"],
    ["French", "Le lun. 14 mai 2001 à 10:00, Cy Old <cy@x.example> a écrit :"],
    ["Spanish", "El lun, 14 may 2001 a las 10:00, Cy Old (<cy@x.example>) escribió:"],
    ["Italian", "Il giorno lun 14 mag 2001 alle ore 10:00 Cy Old <cy@x.example> ha scritto:"],
    ["Portuguese", "Em seg., 14 de mai. de 2001 às 10:00, Cy Old <cy@x.example> escreveu:"],
    ["Dutch", "Op ma 14 mei 2001 om 10:00 schreef Cy Old <cy@x.example>:"],
    ["Danish", "Den man. 14. maj 2001 kl. 10.00 skrev Cy Old <cy@x.example>:"],
    ["Polish", "W dniu 14.05.2001 o 10:00, Cy Old pisze: napisał(a):"],
    ["Russian", "14 мая 2001 г. 10:00 Cy Old <cy@x.example> написал:"],
    ["Chinese", "Cy Old <cy@x.example> 于2001年5月14日 写道："],
    ["Japanese", "2001年5月14日(月) 10:00 Cy Old <cy@x.example>:"],
  ])("ends before an attribution (%s)", (_language, line) => {
    expect(ownText(replyAbove(line))).toBe("My answer.");
  });

  it.each([
    ["Outlook", "-----Original Message-----\nFrom: Cy Old"],
    ["Outlook's bold labels", "*From:* Cy <cy@x.example>\n*Sent:* Friday, March 23, 2012\n*To:* Ann\n*Subject:* Re: x"],
    ["Outlook's rule", "________________________________\nFrom: Cy <cy@x.example>\nSent: Friday\nTo: Ann"],
    ["Outlook's tabs", "From:\tCy Old\nSent:\tMonday, May 14, 2001\nTo:\tAnn\nSubject:\tRe: x"],
    ["Outlook in German", "Von: Cy Old [mailto:cy@x.example]\nGesendet: Montag\nAn: Ann\nBetreff: x"],
    ["Outlook in French", "De : Cy Old\nEnvoyé : lundi 14 mai 2001\nÀ : Ann\nObjet : x"],
    ["Outlook in Danish", "Fra: Cy Old <cy@x.example>\nSendt: 14. maj 2001\nTil: Ann\nEmne: x"],
    ["Outlook in Chinese", "发件人: Cy Old\n发送时间: 2001年5月14日\n收件人: Ann\n主题: x"],
    ["a German separator", "-------- Ursprüngliche Nachricht --------\nBetreff: x"],
    ["a French separator", "-----Message d'origine-----\nDe : Cy"],
    ["Gmail's forward", "---------- Forwarded message ----------\nFrom: Cy"],
    ["Apple's forward", "Begin forwarded message:\n\nFrom: Cy <cy@x.example>"],
    ["cc:Mail", "______________________________ Reply Separator _________________________________\nSubject: x"],
    ["a phone", "Sent: Monday, May 14, 2001\nTo: Ann\nSubject: x"],
    [
      "Lotus Notes",
      "\n\n\n\tCy Old\n\t05/14/2001 10:00 AM\n\t\t \n\t\t To: Ann Hale/HOU/ECT@ECT\n\t\t cc: \n\t\t Subject: Re: x",
    ],
    ["Lotus Notes without tabs", "Cy Old@ENRON\n05/14/01 10:00 AM\nTo: Ann\ncc: \nSubject: Re: x"],
    ["Lotus Notes on one line", "Cy Old   06/01/2001 05:12 PM\n\nTo: Ann, Ben\ncc:  \n\nSubject: Re: x"],
    [
      "Lotus Notes to a mailing list",
      "Cy Old\n05/14/2001 10:00 AM\nTo: Ann Hale/HOU/ECT@ECT, Ben\nBlake/HOU/ECT@ECT\ncc: \nSubject: x",
    ],
    ["Lotus Notes without a subject", "Cy Old\n05/14/2001 10:00 AM\nTo: Ann"],
    [
      "Lotus Notes with a reply address",
      "\tcy@x.example\n\t05/14/2001 10:00 AM\n\tPlease respond to cy\n\t\t To: Ann\n\t\t cc: \n\t\t Subject: x",
    ],
    [
      "Lotus Notes' From",
      "From: Cy Old @ ECT                05/14/2001 10:00 AM\n\t\n\nTo: Ann/HOU/ECT@ECT\ncc: \nSubject: x",
    ],
    ["Lotus Notes without a sender", "To:\tAnn Hale/HOU/ECT@ECT, Ben/HOU/ECT@ECT\ncc:\t \nSubject:\tCall"],
    [
      "Lotus Notes' forward",
      "---------------------- Forwarded by Cy Old/HOU/ECT on 05/14/2001 10:00\nAM ---------------------------",
    ],
  ])("ends before the header of %s", (_program, lines) => {
    expect(ownText(replyAbove(lines))).toBe("My answer.");
  });

  it("returns the text below and between marked lines", () => {
    expect(ownText("On May 1 Bo wrote:\n> When?\n> Where?\n\nAt noon, here.")).toBe("At noon, here.");
    expect(ownText("> Do you want one?\nYes, please.\n> And when?\nOn Friday.")).toBe("Yes, please.\nOn Friday.");
    expect(ownText("Bo wrote:\n\n> a\n\nb\n\n-----Original Message-----\n> c\n\nd")).toBe("b\n\n\nd");
  });

  it("ends at the second quotation if the lines of the first one start with >", () => {
    expect(ownText(`> When?\n\nNow.\n\n-----Original Message-----\nFrom: Cy\n\n${OLD}`)).toBe("Now.");
  });

  it("excludes the wrapped end of a marked line", () => {
    const long = `> ${"word ".repeat(14)}and`;
    expect(ownText(`${long}\nbroken off\n> more\n\nMine.`)).toBe("Mine.");
  });

  it("excludes lines marked with initials", () => {
    expect(ownText(replyAbove("Cy> old", "Cy>> older").replace(`\n\n${OLD}`, ""))).toBe("My answer.");
  });

  it.each([
    ["a comparison", "Results\n> 50 percent agree\nend"],
    ["comparisons", "Load:\n< 50 MW: one\n> 50 MW: two"],
    ["an itinerary", "Your trip\nFrom: Houston\nTo: Portland\nDate: May 20\nThe fare is 412 dollars."],
    ["prose with a colon", "He wrote:\nall of this is mine.\nFrom: the top, I mean."],
    ["a memorandum", "To: All employees\nFrom: The office\nSubject: Parking\n\nPlease park elsewhere."],
    ["a list of things", "To: do\n- buy milk, eggs\nSubject: none"],
    ["a shell session", "Type this:\nC> dir\nthen wait."],
    ["a rule", "One\n----------\nTwo\n\n-- \nAnn"],
    ["an arrow", "Choose File -> Open -> Recent:\nthen go on."],
    ["a date above a list", "05/14/2001 10:00 AM\nTo: be decided\nPlace: here"],
  ])("includes %s", (_what, body) => {
    expect(ownText(body)).toBe(body);
  });

  it("returns nothing if everything is quoted", () => {
    expect(ownText(`-----Original Message-----\nFrom: Cy\n\n${OLD}`)).toBe("");
    expect(ownText("> a\n> b")).toBe("");
  });

  it("takes time linear in the length of the body", () => {
    const body = `${"To: a@b.example, c\n".repeat(2)}${"On a@b.example\n".repeat(2)}Cy> wrote:\n> x\n`.repeat(20_000);
    const start = performance.now();
    ownText(body);
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});
