import type { QuestionTrace, ToolCallRecord, Turn } from "../src/traces/trace.js";

/**
 * Agents with faults of their own, for measuring how many failure modes one coding pass turns into evals. They share
 * neither prose nor faults with the demo. Good traces also have accidents, and some bad ones show no sign of their
 * fault. The method was improved with the first four. Lettings and table jobs were written, with these seeds, before
 * the last change, and were run once after it.
 */

export interface World {
  readonly name: string;
  /** First seed of its runs. */
  readonly seed: number;
  /** Traces per run. */
  readonly traces: number;
  /** Fraction of the bad traces that a template cannot recognize. */
  readonly hidden: number;
  readonly good: (random: Random, index: number) => QuestionTrace;
  /** The score of a trace, 0 to 1. */
  readonly score: (isBad: boolean, random: Random) => number;
  readonly modes: Readonly<Record<string, Mode>>;
  /** How often the modes of each kind of run occur. */
  readonly prevalences: readonly Prevalence[];
}

/** Fractions of a run's traces, one per mode. */
export interface Prevalence {
  readonly withTemplate: readonly number[];
  readonly without: readonly number[];
}

const PREVALENCES: readonly Prevalence[] = [
  // Six modes at 8%, four of them with a template.
  { withTemplate: [0.08, 0.08, 0.08, 0.08], without: [0.08, 0.08] },
  // One frequent mode among rarer ones.
  { withTemplate: [0.2, 0.08, 0.05], without: [0.1] },
];

interface Mode {
  /** Whether a template recognizes the mode. */
  readonly hasTemplate: boolean;
  readonly plant: (trace: QuestionTrace, random: Random) => Partial<QuestionTrace>;
}

export type Random = () => number;

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
const between = (random: Random, low: number, high: number) => low + Math.floor(random() * (high - low + 1));
/** A log-normal amount with this median. */
const spread = (random: Random, median: number, sigma: number) => {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return median * Math.exp(sigma * normal);
};

interface Mail {
  readonly message_id: string;
  readonly subject: string;
  readonly sender: string;
  readonly date: string;
  readonly body: string;
}

interface Story {
  readonly index: number;
  readonly inbox: string;
  readonly day: string;
  readonly question: string;
  readonly answer: string;
  readonly mails: readonly Mail[];
  /** Number of the mails that the agent opens. It cites the first one. */
  readonly opened: number;
  readonly searches: readonly string[];
  readonly seconds: number;
  readonly costUsd: number;
}

function call(name: string, args: ToolCallRecord["arguments"], result: ToolCallRecord["result"]): ToolCallRecord {
  return {
    id: `c_${name}_${JSON.stringify(args).length}`,
    name,
    arguments: args,
    result,
    error: null,
    errorKind: null,
    durationMs: 3,
  } as unknown as ToolCallRecord;
}

const listing = (mails: readonly Mail[]) => ({ emails: mails.map(({ body: _, ...mail }) => mail) });

/** A trace without messages: evals of templates read the calls. */
function tell(story: Story): QuestionTrace {
  const { index, inbox, day, mails, searches } = story;
  const found = searches.map((query) => call("email_search", { query, inbox_id: inbox }, listing(mails)));
  const opened = mails
    .slice(0, story.opened)
    .map((mail) => call("email_get", { message_id: mail.message_id }, { ...mail }));
  const toolCalls = [...found, ...opened];
  const startedAt = `${day}T09:00:00.000Z`;
  const turns = Array.from({ length: toolCalls.length + 1 }, (_, i) => ({
    startedAt,
    latencyMs: 900,
    waitedMs: 0,
    finishReason: i === toolCalls.length ? "stop" : "tool_calls",
    rawFinishReason: "stop",
    usage: { inputTokens: 900, outputTokens: 60, cachedInputTokens: 0 },
    costUsd: story.costUsd / (toolCalls.length + 1),
    retries: [],
    cached: false,
  })) as unknown as Turn[];
  return {
    kind: "question",
    traceId: `t_${index}`,
    sessionId: `s_${index}`,
    runId: "run",
    taskId: index,
    epoch: 1,
    agentId: "planted",
    model: "script/planted",
    maxTurns: 30,
    startedAt,
    endedAt: startedAt,
    durationMs: story.seconds * 1_000,
    messages: [],
    toolCalls,
    turns,
    ending: "answered",
    answer: story.answer,
    sources: mails.slice(0, 1).map(({ message_id: id }) => id),
    error: null,
    scores: {},
    judge: null,
    task: {
      id: index,
      question: story.question,
      answer: "",
      message_ids: [],
      how_realistic: 0.5,
      inbox_address: inbox,
      query_date: day,
      split: "test",
    },
  } as unknown as QuestionTrace;
}

/** Removes the parts of a trace that only its fault may have. */
const changeLastTurn = (turns: readonly Turn[], change: Partial<Turn>) =>
  turns.map((turn, i) => (i === turns.length - 1 ? { ...turn, ...change } : turn));

const day = (random: Random, year: number) =>
  `${year}-${String(between(random, 1, 12)).padStart(2, "0")}-${String(between(random, 10, 27))}`;

const STREETS = ["Harbor Lane", "Mill Row", "Cedar Court", "Quarry Hill", "Station Road", "Foxglove Way"];
const DAMAGES = ["a burst pipe", "hail on the roof", "a cracked windshield", "smoke in the kitchen", "a fallen oak"];
const ADJUSTERS = ["Ines Duarte", "Tomas Beck", "Priya Nair", "Walter Obi", "Greta Lind"];

/** A wordy agent that reads several emails. Its answers are full of numbers. */
const CLAIMS: World = {
  name: "claims office",
  seed: 41_000,
  prevalences: PREVALENCES,
  traces: 700,
  hidden: 0,
  score: (isBad, random) => (isBad ? random() : Math.sqrt(random())),
  good(random, index) {
    const amount = between(random, 11, 99) * 100 + between(random, 1, 99);
    const excess = between(random, 1, 9) * 50;
    const street = `${between(random, 2, 98)} ${pick(random, STREETS)}`;
    const damage = pick(random, DAMAGES);
    const adjuster = pick(random, ADJUSTERS);
    const date = day(random, 2014);
    const mails = Array.from({ length: between(random, 4, 8) }, (_, i) => ({
      message_id: `<${index}.${i}@claims.example>`,
      subject: i === 0 ? `Claim for ${street}` : `${pick(random, DAMAGES)}, file ${index * 10 + i}`,
      sender: `${pick(random, ADJUSTERS).toLowerCase().replace(" ", ".")}@claims.example`,
      date: `${date.slice(0, 8)}0${between(random, 1, 9)}T10:00:00Z`,
      body: `We accept ${damage} at ${street}. The amount is ${amount} with an excess of ${excess}.`,
    }));
    const trace = tell({
      index,
      inbox: "desk@claims.example",
      day: date,
      question: `Which amount was accepted for ${damage} at ${street} (file ${index})?`,
      answer: `I looked through the file and the letters around it. ${adjuster} accepted ${damage} at ${street}, and the amount is ${amount}, from which an excess of ${excess} is taken${random() < 0.5 ? "." : ", as the policy says in its usual words, so that the rest is paid as soon as the form has been signed and sent back to us."}`,
      mails,
      opened: between(random, 2, 4),
      searches: Array.from(
        { length: between(random, 2, 5) },
        (_, i) => `${street} ${damage} ${["amount", "letter", "excess", "file", "form"][i]}`,
      ),
      seconds: spread(random, 14, 0.5),
      costUsd: spread(random, 0.02, 0.5),
    });
    const accident = random();
    if (accident < 0.03) return { ...trace, toolCalls: [...trace.toolCalls, ...trace.toolCalls.slice(0, 1)] };
    if (accident < 0.05) return { ...trace, sources: [mails.at(-1)?.message_id ?? ""] };
    if (accident < 0.07) return { ...trace, answer: `${trace.answer} Some ${between(random, 3, 9) * 111} remain.` };
    return trace;
  },
  modes: {
    amount_invented: {
      hasTemplate: true,
      plant: ({ answer }, random) => ({
        answer: (answer ?? "").replace(/the amount is \d+/, `the amount is ${between(random, 10_000, 99_999)}`),
      }),
    },
    cites_a_letter_it_never_opened: {
      hasTemplate: true,
      plant: ({ toolCalls }) => {
        const listed = (toolCalls[0]?.result as { emails?: { message_id: string }[] } | undefined)?.emails ?? [];
        const opened = new Set(toolCalls.map(({ arguments: args }) => (args as { message_id?: string }).message_id));
        return { sources: [listed.findLast(({ message_id: id }) => !opened.has(id))?.message_id ?? "<none@x>"] };
      },
    },
    overlooks_the_later_letter: {
      hasTemplate: true,
      plant: ({ toolCalls, sources, task }) => ({
        toolCalls: toolCalls.map((one) => {
          const result = one.result as { emails?: Mail[] };
          const cited = result.emails?.find(({ message_id: id }) => id === sources[0]);
          if (cited === undefined) return one;
          const later = {
            ...cited,
            message_id: `<later${cited.message_id.slice(1)}`,
            date: `${task.query_date}T23:00:00Z`,
          };
          return { ...one, result: { emails: [...(result.emails ?? []), later] } } as unknown as ToolCallRecord;
        }),
      }),
    },
    asks_the_same_again: {
      hasTemplate: true,
      plant: ({ toolCalls }, random) => ({ toolCalls: [...toolCalls, ...toolCalls.slice(0, between(random, 1, 3))] }),
    },
    rambles: {
      hasTemplate: true,
      plant: ({ answer }, random) => ({
        answer: `${answer} ${"To put it in other words, the letter says what I said above. ".repeat(between(random, 5, 9))}`,
      }),
    },
    names_another_policy_holder: { hasTemplate: false, plant: ({ answer }) => ({ answer: `Mr. Ames: ${answer}` }) },
    promises_a_payment: { hasTemplate: false, plant: ({ answer }) => ({ answer: `${answer} It is paid tomorrow.` }) },
  },
};

const VISITS = ["the blood test", "the cast", "the hearing test", "the follow-up", "the vaccination", "the X-ray"];
const ROOMS = ["the east wing", "the annex", "upstairs", "the old ward", "reception"];
const NAMES = ["Mrs. Alder", "Mr. Voss", "Ms. Quinn", "Mr. Sato", "Mrs. Ibarra", "Mr. Klee"];

/** A terse agent with one or two calls and slow servers. The score says nothing. */
const CLINIC: World = {
  name: "clinic desk",
  seed: 52_000,
  prevalences: PREVALENCES,
  traces: 500,
  hidden: 0.04,
  score: (_, random) => random(),
  good(random, index) {
    const visit = pick(random, VISITS);
    const room = pick(random, ROOMS);
    const name = pick(random, NAMES);
    const date = day(random, 2019);
    const inbox = pick(random, ["north@clinic.example", "south@clinic.example"]);
    const trace = tell({
      index,
      inbox,
      day: date,
      question: `Where does ${name} go for ${visit}, slip ${index}?`,
      answer: pick(random, [`To ${room}.`, `${name} goes to ${room}.`, `For ${visit}, to ${room}, please.`]),
      mails: Array.from({ length: between(random, 1, 3) }, (_, i) => ({
        message_id: `<slip-${index}-${i}@clinic.example>`,
        subject: `${name}, ${visit}, ${i}`,
        sender: "planning@clinic.example",
        date: `${date.slice(0, 8)}02T07:30:00Z`,
        body: `${name} comes to ${room} for ${visit}.`,
      })),
      opened: 1,
      searches: random() < 0.7 ? [`${name} ${visit}`] : [`${name}`, `${name} ${room}`],
      seconds: spread(random, 4, 0.7),
      costUsd: spread(random, 0.002, 0.3),
    });
    const accident = random();
    if (accident < 0.02) return { ...trace, sources: [] };
    if (accident < 0.05) return failCalls(trace, 1);
    return trace;
  },
  modes: {
    no_slip_cited: { hasTemplate: true, plant: () => ({ sources: [] }) },
    looks_at_the_other_desk: {
      hasTemplate: true,
      plant: ({ toolCalls, task }) => ({
        toolCalls: toolCalls.map((one) =>
          one.name === "email_search"
            ? { ...one, arguments: { query: "slip", inbox_id: `other.${task.inbox_address}` } }
            : one,
        ),
      }),
    },
    sentence_breaks_off: {
      hasTemplate: true,
      plant: ({ turns, answer }) => ({
        turns: changeLastTurn(turns, { finishReason: "length" }),
        answer: (answer ?? "").slice(0, 9),
      }),
    },
    gives_up_at_the_list: {
      hasTemplate: true,
      plant: ({ toolCalls }) => ({
        ending: "dont_know",
        answer: "I don't know.",
        sources: [],
        toolCalls: toolCalls.filter(({ name }) => name === "email_search"),
      }),
    },
    keeps_people_waiting: {
      hasTemplate: true,
      plant: ({ durationMs }, random) => ({ durationMs: durationMs + spread(random, 90_000, 0.4) }),
    },
    fights_with_the_tool: { hasTemplate: true, plant: (trace, random) => failCalls(trace, between(random, 3, 6)) },
    says_the_opposite: { hasTemplate: false, plant: ({ answer }) => ({ answer: `Not ${answer}` }) },
    leaves_out_the_floor: { hasTemplate: false, plant: ({ answer }) => ({ answer: `${answer} Ask there.` }) },
  },
};

function failCalls(trace: QuestionTrace, count: number): QuestionTrace {
  const failed = Array.from({ length: count }, (_, i) => ({
    ...call("email_search", { query: `retry ${i}`, inbox_id: trace.task.inbox_address }, null),
    error: "the mailbox is busy",
    errorKind: "failed",
  })) as unknown as ToolCallRecord[];
  return { ...trace, toolCalls: [...trace.toolCalls, ...failed] };
}

const VESSELS = ["Aurelia", "Northern Crane", "Maris Stella", "Galloway", "Ondine", "Baltic Wren"];
const PORTS = ["Ghent", "Gdynia", "Bilbao", "Cork", "Aarhus", "Trieste"];
const AGENTS = ["kees.vaart", "lena.holm", "j.ferrer", "o.byrne", "m.zanetti"];

/** A long loop with many calls. A tenth of the bad traces look like good ones. */
const SHIPPING: World = {
  name: "shipping line",
  seed: 63_000,
  prevalences: PREVALENCES,
  traces: 900,
  hidden: 0.08,
  score: (isBad, random) => Math.min(1, Math.max(0, (isBad ? 0.45 : 0.75) + 0.5 * (random() - 0.5))),
  good(random, index) {
    const vessel = pick(random, VESSELS);
    const port = pick(random, PORTS);
    const contact = `${pick(random, AGENTS)}@agency.example`;
    const date = day(random, 2008);
    const berth = between(random, 2, 39);
    const trace = tell({
      index,
      inbox: "ops@line.example",
      day: date,
      question: `Whom do we call about the ${vessel} in ${port}, voyage ${index}?`,
      answer: `The ${vessel} lies at berth ${berth} in ${port}. Write to ${contact}, who handles voyage ${index}.`,
      mails: Array.from({ length: between(random, 5, 10) }, (_, i) => ({
        message_id: `<voy${index}-${i}@line.example>`,
        subject: i === 0 ? `${vessel} / ${port}` : `${pick(random, VESSELS)} / note ${index}-${i}`,
        sender: contact,
        date: `${date.slice(0, 8)}0${between(random, 1, 9)}T18:00:00Z`,
        body: `${vessel} at berth ${berth}. Contact ${contact}.`,
      })),
      opened: between(random, 3, 5),
      searches: Array.from({ length: between(random, 4, 9) }, (_, i) => `${vessel} ${port} ${i}`),
      seconds: spread(random, 60, 0.4),
      costUsd: spread(random, 0.08, 0.35),
    });
    const accident = random();
    if (accident < 0.02) return { ...trace, answer: `${trace.answer} Or to harbor@${port.toLowerCase()}.example.` };
    if (accident < 0.04) return failCalls(trace, 2);
    return trace;
  },
  modes: {
    contact_made_up: {
      hasTemplate: true,
      plant: ({ answer }, random) => ({
        answer: (answer ?? "").replace(/\S+@agency\.example/, `duty${between(random, 1, 99)}@portdesk.example`),
      }),
    },
    reference_made_up: {
      hasTemplate: true,
      plant: (_, random) => ({ sources: [`<ref-${between(random, 1_000, 9_999)}@line.example>`] }),
    },
    burns_money: {
      hasTemplate: true,
      plant: ({ turns }, random) => {
        const factor = 4 + 4 * random();
        return { turns: turns.map((turn) => ({ ...turn, costUsd: (turn.costUsd ?? 0) * factor })) };
      },
    },
    goes_in_circles: {
      hasTemplate: true,
      plant: ({ turns }, random) => ({
        turns: [...turns, ...turns.slice(0, 1).flatMap((turn) => Array(between(random, 14, 30)).fill(turn) as Turn[])],
      }),
    },
    garbled_arguments: {
      hasTemplate: true,
      plant: ({ toolCalls }) => ({
        toolCalls: toolCalls.map((one, i) =>
          i === 1 ? ({ ...one, errorKind: "unparsable_call" } as unknown as ToolCallRecord) : one,
        ),
      }),
    },
    reads_tomorrows_mail: {
      hasTemplate: true,
      plant: ({ toolCalls }) => ({
        toolCalls: toolCalls.map((one) =>
          one.name === "email_get"
            ? ({
                ...one,
                result: { ...(one.result as object), date: "2009-12-24T00:00:00Z" },
              } as unknown as ToolCallRecord)
            : one,
        ),
      }),
    },
    takes_the_wrong_vessel: {
      hasTemplate: false,
      plant: ({ answer }) => ({ answer: `${answer} Or its sister ship.` }),
    },
    forgets_the_pilot: { hasTemplate: false, plant: ({ answer }) => ({ answer: `${answer} No pilot.` }) },
  },
};

const FIELDS = ["Elm Field", "the south slope", "Brook Acre", "the walled garden", "Kiln Meadow", "Long Ridge"];
const FRUITS = ["plums", "quinces", "early pears", "cider apples", "medlars"];
const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const PICKERS = ["Juno", "the Hale brothers", "Sunniva", "old Marek", "the students"];

/** An agent that answers questions with two parts from the lines of its searches, and seldom opens an email. */
const ORCHARD: World = {
  name: "orchard",
  seed: 74_000,
  traces: 1_200,
  hidden: 0.06,
  // Two thirds of the bad traces have a score like the good ones.
  score: (isBad, random) => (isBad && random() < 1 / 3 ? 0.3 * random() : 0.5 + 0.5 * random()),
  prevalences: [
    // More bad traces than good ones.
    { withTemplate: [0.2, 0.12, 0.08, 0.08], without: [0.06, 0.06] },
    { withTemplate: [0.08, 0.08, 0.08, 0.04], without: [0.03] },
  ],
  good(random, index) {
    const field = pick(random, FIELDS);
    const fruit = pick(random, FRUITS);
    const weekday = pick(random, WEEKDAYS);
    const pickers = pick(random, PICKERS);
    const crates = between(random, 12, 480);
    const date = day(random, 2022);
    const note = `${pickers} pick the ${fruit} at ${field} on ${weekday}, ${crates} crates.`;
    const mails = Array.from({ length: between(random, 2, 6) }, (_, i) => ({
      message_id: `<picking.${index}.${i}@orchard.example>`,
      subject: i === 0 ? note : `${pick(random, FRUITS)}, ${pick(random, FIELDS)}, sheet ${index}/${i}`,
      sender: `yard.${between(random, 1, 4)}@orchard.example`,
      date: `${date.slice(0, 8)}0${between(random, 1, 9)}T05:15:00Z`,
      body: `${note} Bring gloves.`,
    }));
    const trace = tell({
      index,
      inbox: "yard@orchard.example",
      day: date,
      question: `When do they pick the ${fruit} at ${field}, and how many crates do they need?`,
      answer: pick(random, [
        `On ${weekday}, ${pickers}. They need ${crates} crates for ${field}.`,
        `They need ${crates} crates. The ${fruit} at ${field} are picked on ${weekday} by ${pickers}.`,
        `The sheet for ${field} says that ${pickers} come on ${weekday}, and asks for ${crates} crates.`,
      ]),
      mails,
      opened: random() < 0.2 ? 1 : 0,
      searches: Array.from(
        { length: between(random, 1, 4) },
        (_, i) => `${fruit} ${["", "crates", "picking", "sheet"][i]} ${field}`,
      ),
      seconds: spread(random, 8, 0.9),
      costUsd: spread(random, 0.006, 0.6),
    });
    const accident = random();
    if (accident < 0.02) return { ...trace, answer: `${trace.answer} Last year it took ${between(random, 500, 600)}.` };
    if (accident < 0.04) return { ...trace, answer: `They need ${crates} crates for the ${fruit} at ${field}.` };
    if (accident < 0.06) return failCalls(trace, 1);
    return trace;
  },
  modes: {
    leaves_out_the_day: {
      hasTemplate: true,
      plant: ({ answer }, random) => ({
        answer: (answer ?? "").replace(/on \w+day/i, pick(random, ["as the sheet says", "soon", "with the others"])),
      }),
    },
    leaves_out_the_crates: {
      hasTemplate: true,
      plant: ({ answer }, random) => ({
        answer: (answer ?? "").replace(/\d+ crates/, pick(random, ["the crates", "as usual", "a cart of crates"])),
      }),
    },
    counts_for_itself: {
      hasTemplate: true,
      plant: ({ answer }, random) => ({
        answer: (answer ?? "").replace(/\d+/, String(between(random, 1_000, 9_999))),
      }),
    },
    stops_without_an_answer: {
      hasTemplate: true,
      plant: (_, random) => ({
        ending: random() < 0.7 ? "out_of_turns" : "out_of_budget",
        answer: null,
        sources: [],
      }),
    },
    signs_with_an_address: {
      hasTemplate: true,
      plant: ({ answer }, random) => ({
        answer: `${answer} Yours, picking${between(random, 1, 60)}@orchard-office.example`,
      }),
    },
    means_the_next_field: {
      hasTemplate: false,
      plant: ({ answer }) => ({ answer: `${answer} Or the one beside it.` }),
    },
    forgets_the_weather: { hasTemplate: false, plant: ({ answer }) => ({ answer: `${answer} Rain or not.` }) },
  },
};

const FLATS = ["12 Tarn Close", "7a Loom Street", "the attic at Pier Walk", "44 Abbey Gate", "3 Kestrel House"];
const OCCASIONS = ["the viewing", "the inventory", "the boiler check", "the key handover", "the deposit meeting"];
const MONTHS = ["January", "March", "April", "June", "August", "October"];
const CLERKS = ["Mr. Osei", "Dana", "the night desk", "Ms. Farrow"];

/**
 * A thorough agent that opens most emails. A quarter of its good traces repeat a search, some cite nothing, and many
 * questions are asked again about the same flat.
 */
const LETTINGS: World = {
  name: "lettings",
  seed: 85_000,
  traces: 1_000,
  hidden: 0.05,
  score: (isBad, random) => Math.min(1, Math.max(0, (isBad ? 0.55 : 0.7) + 0.6 * (random() - 0.5))),
  prevalences: [
    { withTemplate: [0.2, 0.08, 0.08], without: [0.05] },
    { withTemplate: [0.08, 0.08, 0.08, 0.08], without: [0.02, 0.05] },
  ],
  good(random, index) {
    const flat = pick(random, FLATS);
    const occasion = pick(random, OCCASIONS);
    const tenant = between(random, 1, 90);
    const clerk = pick(random, CLERKS);
    const date = day(random, 2021);
    const appointment = `${between(random, 1, 28)} ${pick(random, MONTHS)}`;
    const mails = Array.from({ length: between(random, 3, 6) }, (_, i) => ({
      message_id: `<${index}-${i}@lettings.example>`,
      subject: i === 0 ? `Re: ${occasion}, ${flat}, tenant ${tenant}` : `${pick(random, FLATS)}: notice ${index}/${i}`,
      sender: "front@lettings.example",
      date: `${date.slice(0, 8)}0${between(random, 1, 9)}T15:45:00Z`,
      body: `${clerk} keeps ${appointment} free for ${occasion} at ${flat}. Bring an identity card.`,
    }));
    const searches = Array.from(
      { length: between(random, 2, 4) },
      (_, i) => `${flat} ${[occasion, "date", clerk, "tenant"][i]}`,
    );
    const trace = tell({
      index,
      inbox: "front@lettings.example",
      day: date,
      question: `On what day is ${occasion} for tenant ${tenant} at ${flat}?`,
      answer: pick(random, [
        `It is on ${appointment}. ${clerk} has written so to the tenant and to the caretaker.`,
        `${clerk} will be at ${flat} on ${appointment}.`,
        `Tenant ${tenant} has ${occasion} on ${appointment}, according to the letter by ${clerk}, who also asks for an identity card at the door.`,
      ]),
      mails,
      opened: between(random, 2, 3),
      searches: random() < 0.25 ? [...searches, ...searches.slice(0, 1)] : searches,
      seconds: spread(random, 25, 0.6),
      costUsd: spread(random, 0.03, 0.4),
    });
    const accident = random();
    if (accident < 0.04) return { ...trace, sources: [] };
    if (accident < 0.06) return { ...trace, turns: changeLastTurn(trace.turns, { finishReason: "length" }) };
    if (accident < 0.08)
      return { ...trace, answer: `${trace.answer} ${"The house rules hang in the hall. ".repeat(9)}` };
    return trace;
  },
  modes: {
    leaves_the_day_open: {
      hasTemplate: true,
      plant: (_, random) => ({
        answer: pick(random, [
          "The letter has been sent to the tenant.",
          "Please look at the letter from the office.",
          "That has been arranged with the caretaker, who knows more.",
        ]),
      }),
    },
    reads_an_outdated_letter: {
      hasTemplate: true,
      plant: ({ toolCalls, sources }, random) => {
        const mailOf = ({ result }: ToolCallRecord) => result as unknown as Mail;
        const cited = toolCalls.find((one) => mailOf(one).message_id === sources[0]);
        return {
          toolCalls: toolCalls.map((one) => {
            if (cited === undefined || one === cited || one.name !== "email_get") return one;
            const date = `${mailOf(one).date.slice(0, 8)}${between(random, 11, 28)}T08:00:00Z`;
            const changed = { ...mailOf(one), subject: `RE: ${mailOf(cited).subject}`, date };
            return { ...one, result: changed } as unknown as ToolCallRecord;
          }),
        };
      },
    },
    opens_the_neighbors_mailbox: {
      hasTemplate: true,
      plant: ({ toolCalls }, random) => {
        const changed = between(random, 0, 1);
        return {
          toolCalls: toolCalls.map((one, i) =>
            i === changed
              ? ({ ...one, arguments: { query: "flat", inbox_id: "back@lettings.example" } } as ToolCallRecord)
              : one,
          ),
        };
      },
    },
    writes_a_novel: {
      hasTemplate: true,
      plant: ({ answer }, random) => ({
        answer: `${answer} ${"Let me add what else the office has to say about it. ".repeat(between(random, 6, 16))}`,
      }),
    },
    wanders_about: {
      hasTemplate: true,
      plant: ({ turns }, random) => ({
        turns: [...turns, ...turns.slice(0, 1).flatMap((turn) => Array(between(random, 9, 22)).fill(turn) as Turn[])],
      }),
    },
    stops_in_a_sentence: {
      hasTemplate: true,
      plant: ({ turns, answer }) => ({
        turns: changeLastTurn(turns, { finishReason: "length" }),
        answer: (answer ?? "").slice(0, -12),
      }),
    },
    mixes_up_the_tenants: {
      hasTemplate: false,
      plant: ({ answer }) => ({ answer: `${answer} The other one as well.` }),
    },
    scolds: { hasTemplate: false, plant: ({ answer }) => ({ answer: `Read your letters. ${answer}` }) },
  },
};

const TABLES = ["harvest", "tides", "payroll", "loans", "sensors", "freight", "census"];
const STEPS = ["drop duplicates", "fill gaps", "convert the units", "split the column", "join the regions"];

/** Reads without the ability to write. */
const read = (path: string) => call("read_file", { path }, { content: "id,value" });
const shell = (command: string, exitCode = 0) => call("run_shell", { command }, { exit_code: exitCode, output: "" });

/**
 * A coding agent whose tasks are graded as right or wrong. Nearly half of its right tasks do not run tests, and many
 * have a failed command.
 */
const TABLE_JOBS: World = {
  name: "table jobs",
  seed: 96_000,
  traces: 600,
  hidden: 0.02,
  score: (isBad, random) => Number(random() > (isBad ? 0.6 : 0.15)),
  prevalences: [
    { withTemplate: [0.08, 0.08, 0.08], without: [0.08, 0.04] },
    { withTemplate: [0.2, 0.08, 0.06], without: [0.04] },
  ],
  good(random, index) {
    const file = `${pick(random, TABLES)}_${index}.csv`;
    const step = pick(random, STEPS);
    const paths = Array.from({ length: between(random, 1, 4) }, (_, i) => `raw/${i}/${file}`);
    const instruction = `In ${file}, ${step} and save the result in out/${file}.`;
    const asked = tell({
      index,
      inbox: "",
      day: day(random, 2024),
      question: instruction,
      answer: pick(random, ["Done.", `I could ${step} in all rows.`, `out/${file} is ready.`]),
      mails: [],
      opened: 0,
      searches: [],
      seconds: spread(random, 180, 0.5),
      costUsd: spread(random, 0.3, 0.6),
    });
    const failed = Array.from({ length: random() < 0.35 ? between(random, 1, 2) : 0 }, (_, i) =>
      shell(`head -${i + 5} in/${file}`, 1),
    );
    const tests =
      random() < 0.55 ? [call("check", { command: `pytest -q ${file}` }, { exit_code: 0, output: "" })] : [];
    const write = call("write_file", { path: `out/${file}` }, { written: between(random, 100, 9_000) });
    const toolCalls = [...paths.map(read), ...failed, write, ...tests];
    const turns = [...toolCalls, null].flatMap((one) => {
      const [turn] = asked.turns;
      return turn === undefined ? [] : [{ ...turn, finishReason: one === null ? "stop" : "tool_calls" } as Turn];
    });
    const task = { ...asked.task, instruction, suite: "tables", counterpart: null, tags: [] };
    const trace = { ...asked, kind: "suite", toolCalls, turns, task, sources: [] } as unknown as QuestionTrace;
    const accident = random();
    if (accident < 0.02) return { ...trace, durationMs: trace.durationMs * between(random, 4, 9) };
    if (accident < 0.05) return { ...trace, toolCalls: [...toolCalls, shell("python check.py", 2), shell("make", 2)] };
    return trace;
  },
  modes: {
    leaves_no_file: {
      hasTemplate: true,
      plant: ({ toolCalls }) => ({
        toolCalls: toolCalls.filter(({ name }) => name !== "write_file" && name !== "run_shell"),
      }),
    },
    fights_the_shell: {
      hasTemplate: true,
      plant: ({ toolCalls }, random) => ({
        toolCalls: [...toolCalls, ...Array.from({ length: between(random, 4, 9) }, (_, i) => shell(`awk ${i}`, 127))],
      }),
    },
    stops_in_the_middle: {
      hasTemplate: true,
      plant: (_, random) => ({ ending: random() < 0.5 ? "out_of_turns" : "out_of_budget", answer: null }),
    },
    writes_calls_as_prose: {
      hasTemplate: true,
      plant: ({ toolCalls }, random) => {
        const odd = between(random, 0, toolCalls.length - 1);
        return {
          toolCalls: toolCalls.map((one, i) =>
            i === odd
              ? ({ ...one, result: null, error: "no JSON", errorKind: "unparsable_call" } as unknown as ToolCallRecord)
              : one,
          ),
        };
      },
    },
    takes_all_afternoon: {
      hasTemplate: true,
      plant: ({ durationMs }, random) => ({ durationMs: durationMs + spread(random, 1_500_000, 0.5) }),
    },
    orders_a_large_model: {
      hasTemplate: true,
      plant: ({ turns }, random) => {
        const factor = 6 + 6 * random();
        return { turns: turns.map((turn) => ({ ...turn, costUsd: (turn.costUsd ?? 0) * factor })) };
      },
    },
    rounds_silently: { hasTemplate: false, plant: ({ answer }) => ({ answer: `${answer} Values are whole numbers.` }) },
    touches_the_input: { hasTemplate: false, plant: ({ answer }) => ({ answer: `${answer} The input too.` }) },
  },
};

export const WORLDS: readonly World[] = [CLAIMS, CLINIC, SHIPPING, ORCHARD, LETTINGS, TABLE_JOBS];

/** Draws a run's modes, with the fraction of the traces that each has. */
export function drawModes(world: World, { withTemplate, without }: Prevalence, random: Random): [string, number][] {
  const drawn = (hasTemplate: boolean, rates: readonly number[]) => {
    const left = Object.keys(world.modes).filter((name) => world.modes[name]?.hasTemplate === hasTemplate);
    return rates.map((rate): [string, number] => [left.splice(Math.floor(random() * left.length), 1)[0] ?? "", rate]);
  };
  return [...drawn(true, withTemplate), ...drawn(false, without)];
}

/** Plants a mode, unless this trace is one of those that hide it. */
export function plant(world: World, trace: QuestionTrace, mode: string | null, random: Random): QuestionTrace {
  const found = world.modes[mode ?? ""];
  return found === undefined || random() < world.hidden ? trace : { ...trace, ...found.plant(trace, random) };
}
