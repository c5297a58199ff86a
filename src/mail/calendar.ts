/** A calendar part (RFC 5545), such as an invitation, as text: what, when, where and who. */

interface Line {
  readonly name: string;
  readonly params: Readonly<Record<string, string>>;
  readonly value: string;
}

/** Events of one calendar that are told; a published calendar may have thousands. */
const MAX_EVENTS = 1_000;

const COMPONENTS: Readonly<Record<string, string>> = { VEVENT: "Event", VTODO: "Task", VJOURNAL: "Journal" };

const METHODS: Readonly<Record<string, string>> = {
  REQUEST: "Invitation",
  CANCEL: "Cancelled",
  REPLY: "Reply to an invitation",
  COUNTER: "Other time proposed",
};

/** The text as it is where it holds no event. */
export function calendarText(source: string): string {
  const events: string[] = [];
  let method: string | undefined;
  let open: { readonly kind: string; readonly lines: Line[] } | null = null;
  // Components inside an event, as an alarm, are passed over.
  let inner = 0;
  for (const line of linesOf(source)) {
    if (line.name === "METHOD") method = METHODS[line.value.trim().toUpperCase()];
    const component = line.value.trim().toUpperCase();
    if (line.name === "BEGIN" && open !== null) inner++;
    else if (line.name === "BEGIN" && COMPONENTS[component] !== undefined) open = { kind: component, lines: [] };
    else if (line.name === "END" && inner > 0) inner--;
    else if (line.name === "END" && open !== null) {
      events.push(eventText(COMPONENTS[open.kind] ?? "", open.lines));
      open = null;
      if (events.length === MAX_EVENTS) break;
    } else if (inner === 0) open?.lines.push(line);
  }
  if (events.length === 0) return source;
  return [...(method === undefined ? [] : [method]), ...events].join("\n\n");
}

function eventText(kind: string, lines: readonly Line[]): string {
  const all = (name: string) => lines.filter((line) => line.name === name && line.value.trim() !== "");
  const first = (name: string) => all(name)[0];
  const textOf = (name: string) => first(name) && unescaped(first(name)?.value ?? "").trim();
  const status = textOf("STATUS")?.toLowerCase();
  const rows: [string, string | undefined][] = [
    [kind, textOf("SUMMARY") ?? "(no title)"],
    ["When", whenOf(first("DTSTART"), first("DTEND"), first("DURATION"))],
    ["Due", first("DUE") && timeOf(first("DUE"))],
    ["Repeats", first("RRULE") && ruleText(first("RRULE")?.value ?? "")],
    ["Where", textOf("LOCATION")],
    ["Status", status === "confirmed" ? undefined : status],
    ["Organizer", all("ORGANIZER").map(personOf).join(", ")],
    ["Attendees", all("ATTENDEE").map(personOf).join(", ")],
  ];
  const head = rows.flatMap(([name, value]) => (value === undefined || value === "" ? [] : [`${name}: ${value}`]));
  const more = textOf("DESCRIPTION") ?? "";
  return [head.join("\n"), ...(more === "" ? [] : [more])].join("\n\n");
}

/** Lines are folded: one that begins with a blank goes on the line before. */
function* linesOf(source: string): Generator<Line> {
  for (const line of source.replace(/\r?\n[ \t]/g, "").split(/\r?\n/)) {
    const name = /^[\w-]+/.exec(line)?.[0];
    if (name === undefined) continue;
    const params: Record<string, string> = {};
    let at = name.length;
    while (line[at] === ";") {
      const param = /;([\w-]+)=((?:"[^"]*"|[^",;:])*(?:,(?:"[^"]*"|[^",;:])*)*)/y;
      param.lastIndex = at;
      const found = param.exec(line);
      if (found === null) break;
      params[(found[1] ?? "").toUpperCase()] = (found[2] ?? "").replaceAll('"', "");
      at = param.lastIndex;
    }
    if (line[at] === ":") yield { name: name.toUpperCase(), params, value: line.slice(at + 1) };
  }
}

function unescaped(value: string): string {
  return value.replace(/\\([nN\\;,])/g, (_, char: string) => (char.toLowerCase() === "n" ? "\n" : char));
}

/** `Bob Blake <bob@x.example> (accepted)` */
function personOf({ params, value }: Line): string {
  const address = value.trim().replace(/^mailto:/i, "");
  const name = params.CN ?? "";
  const answer = (params.PARTSTAT ?? "").toLowerCase();
  const isAnswered = ["accepted", "declined", "tentative", "delegated"].includes(answer);
  return `${name === "" || name === address ? address : `${name} <${address}>`}${isAnswered ? ` (${answer})` : ""}`;
}

interface Time {
  readonly day: string;
  /** `14:00`; empty for a whole day. */
  readonly clock: string;
  readonly zone: string;
}

/** Null where the value is no time. */
function readTime(line: Line): Time | null {
  const [, year, month, day, hour, minute, utc] =
    /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d*(Z?))?$/.exec(line.value.trim()) ?? [];
  if (year === undefined) return null;
  const clock = hour === undefined ? "" : `${hour}:${minute}`;
  const zone = clock === "" ? "" : utc === "Z" ? "UTC" : (line.params.TZID ?? "");
  return { day: `${year}-${month}-${day}`, clock, zone };
}

function timeOf(line: Line | undefined): string | undefined {
  if (line === undefined) return undefined;
  const time = readTime(line);
  return time === null ? line.value.trim() : written(time.day, time.clock, time.zone);
}

function written(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}

function whenOf(start: Line | undefined, end: Line | undefined, duration: Line | undefined): string | undefined {
  if (start === undefined) return undefined;
  const from = readTime(start);
  const to = end === undefined ? null : readTime(end);
  if (from === null) return start.value.trim();
  if (to === null) {
    const length = duration === undefined ? "" : `for ${durationText(duration.value)}`;
    return written(from.day, from.clock, from.zone, length);
  }
  // The last day of an event of whole days is the one before its end.
  if (to.clock === "" && from.clock === "") {
    const last = dayBefore(to.day);
    return last <= from.day ? from.day : `${from.day} to ${last}`;
  }
  const isSameZone = from.zone === to.zone;
  const until = written(from.day === to.day && isSameZone ? "" : to.day, to.clock);
  return isSameZone
    ? written(from.day, from.clock, "to", until, from.zone)
    : written(from.day, from.clock, from.zone, "to", until, to.zone);
}

function dayBefore(day: string): string {
  const at = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(at) ? day : new Date(at - 86_400_000).toISOString().slice(0, 10);
}

/** `PT1H30M`: 1 h 30 min. */
function durationText(value: string): string {
  const units: Readonly<Record<string, string>> = { W: "weeks", D: "days", H: "h", M: "min", S: "s" };
  const parts = [...value.matchAll(/(\d+)([WDHMS])/g)].filter(([, count]) => Number(count) > 0);
  return parts.map(([, count, unit]) => `${count} ${units[unit ?? ""]}`).join(" ") || value.trim();
}

/** `FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;UNTIL=20010401`: weekly, every 2, on MO, until 2001-04-01. */
function ruleText(rule: string): string {
  const parts = Object.fromEntries(rule.split(";").map((part) => part.split("=", 2)));
  const until = typeof parts.UNTIL === "string" ? readTime({ name: "UNTIL", params: {}, value: parts.UNTIL }) : null;
  return [
    String(parts.FREQ ?? rule).toLowerCase(),
    ...(parts.INTERVAL === undefined || parts.INTERVAL === "1" ? [] : [`every ${parts.INTERVAL}`]),
    ...(parts.BYDAY === undefined ? [] : [`on ${parts.BYDAY.replaceAll(",", ", ")}`]),
    ...(parts.COUNT === undefined ? [] : [`${parts.COUNT} times`]),
    ...(until === null ? [] : [`until ${until.day}`]),
  ].join(", ");
}
