/**
 * How much a model should reason, in the terms of OpenAI's API, which most servers share. OpenAI and current models
 * from Anthropic and Google accept a level. Older models accept a thinking budget in tokens.
 */
export const REASONING_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** A `budget` is a number of tokens. */
type EffortForm = "level" | "budget";

/** Reasoning efforts accepted by a model. */
export interface EffortRules {
  /** Forms to try, best first. Empty if the model does not accept an effort. */
  readonly forms: readonly EffortForm[];
  readonly levels: readonly ReasoningEffort[];
  /** Accepted budgets in tokens. */
  readonly budgets: { readonly least: number; readonly most: number };
  /** Value sent for `none` if the form is a budget. */
  readonly off: "none" | number;
  /** Reason why an effort is sent differently or omitted. */
  readonly reason: string;
}

/**
 * Thinking budget per effort in tokens, like Google's mapping for its compatible endpoint
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

/** For models of other makers. Their servers list the accepted levels in an error. */
export const ALL_LEVELS: EffortRules = {
  forms: ["level"],
  levels: REASONING_EFFORTS,
  budgets: ANY_BUDGET,
  off: "none",
  reason: "the server rejects it",
};

/** Claude 4.6 and later. Older models reject adaptive thinking, and 4.7 and later reject a budget. */
const CLAUDE_ADAPTIVE = /^claude-(fable|mythos|[a-z]+-(4-([6-9]|\d\d)(?!\d)|[5-9]|\d\d))/;
const CLAUDE_ALWAYS_THINKS = /^claude-(fable|mythos)/;
const CLAUDE_WITHOUT_THINKING = /^claude-(instant|[12]\b|3-(opus|sonnet|haiku|5))/;

/** @param name in the form `claude-opus-4-6` */
export function anthropicEffort(name: string): EffortRules {
  const levels = REASONING_EFFORTS.filter(
    (level) => level !== "minimal" && !(level === "none" && CLAUDE_ALWAYS_THINKS.test(name)),
  );
  const rules: EffortRules = { ...ALL_LEVELS, levels, reason: `${name} accepts ${levels.join(", ")}` };
  if (CLAUDE_WITHOUT_THINKING.test(name)) return { ...rules, forms: [], reason: `${name} does not support reasoning` };
  // Most servers that are compatible with Anthropic support only the older form.
  return { ...rules, forms: CLAUDE_ADAPTIVE.test(name) ? ["level"] : ["budget", "level"] };
}

const GEMINI_WITH_BUDGET = /^gemini-2\.5/;
const GEMINI_WITHOUT_THINKING = /^gemini-(1|2\.0|pro-vision)/;

export function googleEffort(name: string): EffortRules {
  const levels: readonly ReasoningEffort[] = ["minimal", "low", "medium", "high"];
  const rules: EffortRules = { ...ALL_LEVELS, levels, off: 0, reason: `${name} accepts ${levels.join(", ")}` };
  if (GEMINI_WITHOUT_THINKING.test(name)) return { ...rules, forms: [], reason: `${name} does not support reasoning` };
  return { ...rules, forms: GEMINI_WITH_BUDGET.test(name) ? ["budget"] : ["level", "budget"] };
}

/**
 * Converts an effort to the form that the model accepts: a level, a budget in tokens, or null if it accepts none.
 *
 * @param room tokens of the reply available for reasoning
 * @param budget in tokens; defaults to a budget based on the effort
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

/** Returns the reasoning tokens that a reply needs with this effort. */
export function roomFor(rules: EffortRules, effort: ReasoningEffort, usual: number): number {
  if (effort === "xhigh" || effort === "max") return Number.POSITIVE_INFINITY;
  return rules.forms[0] === "budget" ? Math.max(usual, BUDGETS[effort]) : usual;
}

/** Returns the nearest level, or the lower one if two are equally near. Reasoning is switched off only on request. */
function nearestLevel(levels: readonly ReasoningEffort[], effort: ReasoningEffort): ReasoningEffort | null {
  const reasoning = levels.filter((level) => level !== "none");
  const candidates = effort === "none" || reasoning.length === 0 ? levels : reasoning;
  const distance = (level: ReasoningEffort) =>
    Math.abs(REASONING_EFFORTS.indexOf(level) - REASONING_EFFORTS.indexOf(effort));
  const inOrder = REASONING_EFFORTS.filter((level) => candidates.includes(level));
  return inOrder.sort((a, b) => distance(a) - distance(b))[0] ?? null;
}

/**
 * Returns new rules after a server refused an effort, using the accepted levels or budgets in its message, otherwise
 * the next form. Returns null if the message is not about an unsupported effort.
 *
 * @param isUnsupported whether the message says that the parameter itself is not supported
 */
export function rulesAfterRefusal(
  rules: EffortRules,
  effort: string | number,
  message: string,
  isUnsupported: boolean,
): EffortRules | null {
  const reason = `the server rejects ${effort} (${message.slice(0, 150)})`;
  if (typeof effort === "string") {
    const levels = levelsIn(message);
    if (levels.length > 0 && !levels.some((level) => level === effort)) return { ...rules, levels, reason };
  } else {
    const [, least = "", most = ""] = /(\d+) ?(?:to|and|-|,) ?(\d+)/.exec(message) ?? [];
    const budgets = { least: Number(least), most: Number(most) };
    const isRange = most !== "" && budgets.least < budgets.most && (effort < budgets.least || effort > budgets.most);
    if (isRange) return { ...rules, budgets, off: typeof rules.off === "number" ? budgets.least : rules.off, reason };
  }
  return isUnsupported ? { ...rules, forms: rules.forms.slice(1), reason } : null;
}

const LIST_OF_LEVELS =
  /\b(?:(?:supported|valid|allowed|accepted|permitted|available) (?:values?|options?|levels?|efforts?)|should be|must be|one of|expected|only)\b(?<list>.*)/is;

/** Returns the accepted levels listed in an error. */
function levelsIn(message: string): ReasoningEffort[] {
  const words = new Set((LIST_OF_LEVELS.exec(message)?.groups?.list ?? "").toLowerCase().match(/[a-z]+/g));
  return REASONING_EFFORTS.filter((level) => words.has(level));
}
