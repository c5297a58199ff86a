import { UserError } from "../errors.js";

/**
 * Variables a prompt may use as `{{name}}`. Questions about mail have an inbox and a date; tasks of a suite have a
 * snapshot and the home folder of their machine.
 */
export const PROMPT_VARIABLES = ["inbox_address", "query_date", "max_turns", "tools", "snapshot", "home"] as const;

type Name = (typeof PROMPT_VARIABLES)[number];

type OfAnyTask = Extract<Name, "max_turns" | "tools">;

/** Those that depend on the task. */
export type TaskVariables = Readonly<Partial<Record<Exclude<Name, OfAnyTask>, string>>>;

export type PromptVariables = TaskVariables & Readonly<Record<OfAnyTask, string | number>>;

/** Stands for a variable that tasks of this kind do not have. */
const NOT_GIVEN = "(none in this task)";

const PLACEHOLDER = /\{\{([^{}"]{1,300})\}\}/g;

/** Longer text, or text over two lines, is not taken as a variable. */
const NAME = /^[^\n]{1,100}$/;

/** Fills in `{{name}}`; throws for an unknown name. */
export function renderPrompt(template: string, variables: PromptVariables): string {
  return template.replace(PLACEHOLDER, (whole, inside: string) => {
    const name = inside.trim();
    if (!NAME.test(name)) return whole;
    if (isKnown(name)) return String(variables[name] ?? NOT_GIVEN);
    throw unknownVariable(name);
  });
}

/** Throws the UserError that rendering it would throw. */
export function checkPrompt(template: string): void {
  for (const [, inside = ""] of template.matchAll(PLACEHOLDER)) {
    const name = inside.trim();
    if (NAME.test(name) && !isKnown(name)) throw unknownVariable(name);
  }
}

/** The distinct variable names in a prompt. */
export function variablesIn(template: string): string[] {
  return [...new Set([...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name))];
}

function isKnown(name: string): name is Name {
  return (PROMPT_VARIABLES as readonly string[]).includes(name);
}

function unknownVariable(name: string): UserError {
  return new UserError(
    "prompt_variable",
    `The prompt asks for {{${name}}}, which there is not.`,
    `A prompt may use: ${PROMPT_VARIABLES.map((known) => `{{${known}}}`).join(", ")}.`,
  );
}
