/**
 * How much a model should reason, in the words of OpenAI's API, which most servers share. Each provider takes it in its
 * own form: OpenAI and current models of Anthropic and Google as a level, older ones as a thinking budget in tokens.
 */
export const REASONING_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** `budget`: as a number of tokens. */
type EffortForm = "level" | "budget";

/** What a model accepts as its effort. */
export interface EffortRules {
  /** The forms to try, best first. Empty if the model accepts none. */
  readonly forms: readonly EffortForm[];
  /** The accepted levels. */
  readonly levels: readonly ReasoningEffort[];
  /** The accepted budgets, in tokens. */
  readonly budgets: { readonly least: number; readonly most: number };
  /** What is sent for `none` if the form is a budget. */
  readonly off: "none" | number;
  /** Why an effort is sent differently or not at all. */
  readonly reason: string;
}

/**
 * Thinking budgets of the efforts, as Google maps them for its compatible endpoint
 * (https://ai.google.dev/gemini-api/docs/openai).
 */
const BUDGETS: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};

const ANY_BUDGET = { least: 1_024, most: Number.POSITIVE_INFINITY };

const ALL_LEVELS: EffortRules = {
  forms: ["level"],
  levels: REASONING_EFFORTS,
  budgets: ANY_BUDGET,
  off: "none",
  reason: "the server refuses it",
};

export function openaiEffort(): EffortRules {
  return ALL_LEVELS;
}

/** From 4.6 on. Older models refuse adaptive thinking, and 4.7 and later refuse a budget. */
const CLAUDE_ADAPTIVE = /^claude-(fable|mythos|[a-z]+-(4-([6-9]|\d\d)(?!\d)|[5-9]|\d\d))/;
const CLAUDE_ALWAYS_THINKS = /^claude-(fable|mythos)/;
const CLAUDE_WITHOUT_THINKING = /^claude-(instant|[12]\b|3-(opus|sonnet|haiku|5))/;

/** @param name in the form `claude-opus-4-6` */
export function anthropicEffort(name: string): EffortRules {
  const levels = REASONING_EFFORTS.filter(
    (level) => level !== "minimal" && !(level === "none" && CLAUDE_ALWAYS_THINKS.test(name)),
  );
  const rules: EffortRules = { ...ALL_LEVELS, levels, reason: `${name} accepts ${levels.join(", ")}` };
  if (CLAUDE_WITHOUT_THINKING.test(name)) return { ...rules, forms: [], reason: `${name} does not reason` };
  // Servers that speak like Anthropic's mostly know the older form.
  return { ...rules, forms: CLAUDE_ADAPTIVE.test(name) ? ["level"] : ["budget", "level"] };
}

const GEMINI_WITH_BUDGET = /^gemini-2\.5/;
const GEMINI_WITHOUT_THINKING = /^gemini-(1|2\.0|pro-vision)/;

export function googleEffort(name: string): EffortRules {
  const levels: readonly ReasoningEffort[] = ["minimal", "low", "medium", "high"];
  const rules: EffortRules = { ...ALL_LEVELS, levels, off: 0, reason: `${name} accepts ${levels.join(", ")}` };
  if (GEMINI_WITHOUT_THINKING.test(name)) return { ...rules, forms: [], reason: `${name} does not reason` };
  return { ...rules, forms: GEMINI_WITH_BUDGET.test(name) ? ["budget"] : ["level", "budget"] };
}

/**
 * The effort as the model accepts it: a level, a budget in tokens, or null if it accepts none.
 *
 * @param room tokens of the reply that are left for reasoning
 * @param budget in tokens, if it was set; otherwise the effort decides
 */
export function acceptedEffort(
  rules: EffortRules,
  effort: ReasoningEffort,
  room: number,
  budget = BUDGETS[effort],
): string | number | null {
  const [form] = rules.forms;
  if (form === undefined) return null;
  if (form === "level") return nearestLevel(rules.levels, effort);
  const { least, most } = rules.budgets;
  if (effort === "none") return rules.off;
  return Math.max(least, Math.min(budget, room, most));
}

/** Tokens that a reply needs for reasoning with this effort. */
export function roomFor(rules: EffortRules, effort: ReasoningEffort, usual: number): number {
  if (effort === "xhigh" || effort === "max") return Number.POSITIVE_INFINITY;
  return rules.forms[0] === "budget" ? Math.max(usual, BUDGETS[effort]) : usual;
}

/** The lower one of two equally near. Reasoning is switched off only if that was asked for. */
function nearestLevel(levels: readonly ReasoningEffort[], effort: ReasoningEffort): ReasoningEffort | null {
  const reasoning = levels.filter((level) => level !== "none");
  const candidates = effort === "none" || reasoning.length === 0 ? levels : reasoning;
  const distance = (level: ReasoningEffort) =>
    Math.abs(REASONING_EFFORTS.indexOf(level) - REASONING_EFFORTS.indexOf(effort));
  const inOrder = REASONING_EFFORTS.filter((level) => candidates.includes(level));
  return inOrder.sort((a, b) => distance(a) - distance(b))[0] ?? null;
}

/**
 * The rules after a server refused what was sent, and said which levels or budgets it accepts. Without that, the next
 * form. Null if the message is not about an unsupported effort.
 *
 * @param isUnsupported whether the message says that the parameter itself is not supported
 */
export function rulesAfterRefusal(
  rules: EffortRules,
  sent: string | number,
  message: string,
  isUnsupported: boolean,
): EffortRules | null {
  const reason = `the server refuses ${sent} (${message.slice(0, 150)})`;
  if (typeof sent === "string") {
    const levels = levelsIn(message);
    if (levels.length > 0 && !levels.some((level) => level === sent)) return { ...rules, levels, reason };
  } else {
    const [, least = "", most = ""] = /(\d+) ?(?:to|and|-|,) ?(\d+)/.exec(message) ?? [];
    const budgets = { least: Number(least), most: Number(most) };
    const isRange = most !== "" && budgets.least < budgets.most && (sent < budgets.least || sent > budgets.most);
    if (isRange) return { ...rules, budgets, off: typeof rules.off === "number" ? budgets.least : rules.off, reason };
  }
  return isUnsupported ? { ...rules, forms: rules.forms.slice(1), reason } : null;
}

const LIST_OF_LEVELS =
  /\b(?:(?:supported|valid|allowed|accepted|permitted|available) (?:values?|options?|levels?|efforts?)|should be|must be|one of|expected|only)\b(?<list>.*)/is;

/** The levels that an error lists as accepted. */
function levelsIn(message: string): ReasoningEffort[] {
  const words = new Set((LIST_OF_LEVELS.exec(message)?.groups?.list ?? "").toLowerCase().match(/[a-z]+/g));
  return REASONING_EFFORTS.filter((level) => words.has(level));
}
