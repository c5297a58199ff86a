// System prompts with `{{name}}` variables for the mailbox, date and turn limit of a task.
import { UserError } from "../platform/errors.js";

/**
 * Variables that a prompt can use as `{{name}}`. Questions about mail have an inbox and a date. Suite tasks have a
 * snapshot and the home folder of their machine.
 */
const PROMPT_VARIABLES = ["inbox_address", "query_date", "max_turns", "tools", "snapshot", "home"] as const;

type Name = (typeof PROMPT_VARIABLES)[number];

type OfAnyTask = Extract<Name, "max_turns" | "tools">;

export type TaskVariables = Readonly<Partial<Record<Exclude<Name, OfAnyTask>, string>>>;

type PromptVariables = TaskVariables & Readonly<Record<OfAnyTask, string | number>>;

/** Replaces variables that this kind of task does not have. */
const NOT_GIVEN = "(none in this task)";

const PLACEHOLDER = /\{\{([^{}"]{1,300})\}\}/g;

/** Longer or multi-line text is not treated as a variable. */
const NAME = /^[^\n]{1,100}$/;

/** Fills in `{{name}}` variables. Throws if a name is unknown. */
export function renderPrompt(template: string, variables: PromptVariables): string {
  return template.replace(PLACEHOLDER, (whole, inside: string) => {
    const name = inside.trim();
    if (!NAME.test(name)) return whole;
    if (isKnown(name)) return String(variables[name] ?? NOT_GIVEN);
    throw unknownVariable(name);
  });
}

/** Throws if the prompt contains an unknown variable. */
export function checkPrompt(template: string): void {
  renderPrompt(template, { max_turns: "", tools: "" });
}

export function variablesIn(template: string): string[] {
  return [...new Set([...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name))];
}

function isKnown(name: string): name is Name {
  return (PROMPT_VARIABLES as readonly string[]).includes(name);
}

function unknownVariable(name: string): UserError {
  return new UserError(
    "prompt_variable_unknown",
    `Unknown prompt variable {{${name}}}.`,
    `Available: ${PROMPT_VARIABLES.map((variable) => `{{${variable}}}`).join(", ")}.`,
  );
}
