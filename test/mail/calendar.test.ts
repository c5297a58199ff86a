import { describe, expect, it } from "vitest";
import { calendarText } from "../../src/mail/mime/calendar.js";

function eventOf(lines: readonly string[], method?: string): string {
  const head = ["BEGIN:VCALENDAR", "VERSION:2.0", ...(method === undefined ? [] : [`METHOD:${method}`])];
  const source = [...head, "BEGIN:VEVENT", "SUMMARY:Budget", ...lines, "END:VEVENT", "END:VCALENDAR"].join("\r\n");
  return calendarText(Buffer.from(source), "utf-8").replace(/^Event: Budget\n+/, "");
}

describe("calendarText", () => {
  it("keeps the comment of a reply's sender (RFC 5546 3.2.3)", () => {
    const lines = [
      "ATTENDEE;PARTSTAT=DECLINED;CN=Ben:mailto:ben@x.example",
      "COMMENT:On a farm\\, sorry.",
      "COMMENT:Ask Cy.",
    ];
    expect(eventOf(lines, "REPLY")).toBe(
      "Reply to an invitation\n\nEvent: Budget\nAttendees: Ben <ben@x.example> (declined)\n\nComment: On a farm, sorry.\n\nComment: Ask Cy.",
    );
  });

  it.each([
    ["FREQ=MONTHLY;BYMONTHDAY=1,15,-1", "monthly, on day 1, 15, -1 of the month"],
    ["FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1", "monthly, on MO, TU, only the last of them (position -1)"],
    ["FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=2,3", "monthly, on MO, TU, only position 2, 3 of them"],
    ["FREQ=MONTHLY;BYDAY=2TU;BYMONTH=1,3", "monthly, on 2TU, in January, March"],
    ["FREQ=YEARLY;BYYEARDAY=100;BYHOUR=9;BYMINUTE=30", "yearly, on day 100 of the year, at hour 9, at minute 30"],
    ["FREQ=YEARLY;BYWEEKNO=20;WKST=SU", "yearly, in week 20, weeks begin on SU"],
    ["COUNT=5;FREQ=DAILY;INTERVAL=1;BYDAY=MO", "daily, on MO, 5 times"],
    ["freq=weekly;until=20250101T000000Z", "weekly, until 2025-01-01"],
    ["FREQ=SOMETIMES;X-NEW=1", "sometimes, X-NEW=1"],
    ["W2 MO WE #10", "weekly, every 2, on MO WE, 10 times"],
    ["MP1 2+ TU #0", "monthly, on 2+ TU"],
    ["YM1 20051231T000000Z", "yearly, until 2005-12-31"],
    ["now and then", "now and then"],
  ])("keeps each part of the rule %s", (rule, text) => {
    expect(eventOf([`RRULE:${rule}`])).toBe(`Repeats: ${text}`);
  });

  it.each([
    [
      ["EXDATE;TZID=Europe/Berlin:20240722T080000,20240729T080000", "EXDATE;VALUE=DATE:20240801"],
      "Except on: 2024-07-22 08:00 Europe/Berlin, 2024-07-29 08:00 Europe/Berlin, 2024-08-01",
    ],
    [["EXDATE:20240722T080000Z;20240723T080000Z"], "Except on: 2024-07-22 08:00 UTC, 2024-07-23 08:00 UTC"],
    [["RDATE;VALUE=PERIOD:20240722T080000Z/PT1H"], "Also on: 2024-07-22 08:00 UTC for 1 h"],
    [["RECURRENCE-ID;TZID=Asia/Tokyo:20240722T080000"], "Occurrence: 2024-07-22 08:00 Asia/Tokyo"],
    [["RECURRENCE-ID;RANGE=THISANDFUTURE:20240722T080000Z"], "Occurrence: 2024-07-22 08:00 UTC and later"],
  ])("describes the affected occurrences for %j", (lines, text) => {
    expect(eventOf(lines)).toBe(text);
  });

  it.each([
    ["DTSTART;TZID=GMT+05:30:20120904T020000", "2012-09-04 02:00 GMT+05:30"],
    ["DTSTART;TZID=GMT-03:00;X-A=b:20120904T020000", "2012-09-04 02:00 GMT-03:00"],
    ['DTSTART;TZID="(GMT-06:00) Central: US":20120904T020000', "2012-09-04 02:00 (GMT-06:00) Central: US"],
    ["DTSTART;TZID=/mozilla.org/20050126_1/Europe/Berlin:20120904T020000", "2012-09-04 02:00 Europe/Berlin"],
    ["DTSTART:20120904", "2012-09-04"],
    ["DTSTART:2012-09-04T02:00:00Z", "2012-09-04 02:00 UTC"],
  ])("reads the time of %s", (line, text) => {
    expect(eventOf([line])).toBe(`When: ${text}`);
  });

  it.each([
    ["ATTENDEE;CN=\"Ann ^'Bee^' Hale\":mailto:a@x.example", 'Attendees: Ann "Bee" Hale <a@x.example>'],
    ["ATTENDEE;CN=two^nlines:mailto:a@x.example", "Attendees: two\nlines <a@x.example>"],
    ["ATTENDEE;RSVP;CN=Bo:mailto:b@x.example", "Attendees: Bo <b@x.example>"],
    ["ATTENDEE;ROLE=ATTENDEE;STATUS=CONFIRMED:Bo <b@x.example>", "Attendees: Bo <b@x.example> (confirmed)"],
  ])("reads the parameters (RFC 6868) of %s", (line, text) => {
    expect(eventOf([line])).toBe(text);
  });

  it("decodes the values in vCalendar 1.0", () => {
    expect(
      eventOf([
        "LOCATION;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:Z=FCrich",
        "CONTACT;QUOTED-PRINTABLE:a=3Db",
        "DESCRIPTION;ENCODING=QUOTED-PRINTABLE:line one=0D=0A=",
        "END: of it=",
        " indented",
      ]),
    ).toBe("Where: Zürich\nContact: a=b\n\nline one\nEND: of it indented");
  });

  it("joins folded lines even if a fold splits a character", () => {
    const [head, tail] = [
      Buffer.from("BEGIN:VEVENT\nSUMMARY:Z\xc3\r\n ", "latin1"),
      Buffer.from("\xbcrich\nEND:VEVENT", "latin1"),
    ];
    expect(calendarText(Buffer.concat([head, tail]), "utf-8")).toBe("Event: Zürich");
  });

  it("keeps all events, including a truncated last one", () => {
    const source = "BEGIN:VEVENT\nSUMMARY:One\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:Two\nDTSTART:20240722T08";
    expect(calendarText(Buffer.from(source), "")).toBe("Event: One\n\nEvent: Two\nWhen: 20240722T08");
  });

  it("reads a busy time, a finished task and an HTML description", () => {
    const busy =
      "BEGIN:VFREEBUSY\nFREEBUSY;FBTYPE=BUSY:20240722T090000Z/20240722T100000Z\nCOMMENT:all week\nEND:VFREEBUSY";
    expect(calendarText(Buffer.from(busy), "")).toBe(
      "Free/busy times\nBusy: 2024-07-22 09:00 to 10:00 UTC\n\nComment: all week",
    );
    const task =
      "BEGIN:VTODO\nSUMMARY:Report\nCOMPLETED:20240722T090000Z\nX-ALT-DESC;FMTTYPE=text/html:<p>To <b>Bo</b></p>\nEND:VTODO";
    expect(calendarText(Buffer.from(task), "")).toBe("Task: Report\nCompleted: 2024-07-22 09:00 UTC\n\nTo Bo");
  });

  it("reads UTF-16", () => {
    const source = Buffer.from("\ufeffBEGIN:VEVENT\r\nSUMMARY:Zü\r\n rich\r\nEND:VEVENT", "utf16le");
    expect(calendarText(source, "utf-16")).toBe("Event: Zürich");
  });
});
