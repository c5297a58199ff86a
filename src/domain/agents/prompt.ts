import { UserError } from "../errors.js";

/** What a prompt may ask for as `{{name}}`. */
export const PROMPT_VARIABLES = ["inbox_address", "query_date", "max_turns", "tools"] as const;

export type PromptVariables = Readonly<Record<(typeof PROMPT_VARIABLES)[number], string | number>>;

const PLACEHOLDER = /\{\{([^{}"]{1,300})\}\}/g;

/** Longer, or in two lines, it is no name but part of the prompt's text. */
const NAME = /^[^\n]{1,100}$/;

/** Fills in `{{name}}`; a name that nobody knows is an error, not a hole in the prompt. */
export function renderPrompt(template: string, variables: PromptVariables): string {
  return template.replace(PLACEHOLDER, (whole, inside: string) => {
    const name = inside.trim();
    if (!NAME.test(name)) return whole;
    if (isKnown(name)) return String(variables[name]);
    throw unknownVariable(name);
  });
}

/** Throws the UserError that filling it in would throw. */
export function checkPrompt(template: string): void {
  for (const [, inside = ""] of template.matchAll(PLACEHOLDER)) {
    const name = inside.trim();
    if (NAME.test(name) && !isKnown(name)) throw unknownVariable(name);
  }
}

/** The names that a prompt asks for, each once. */
export function variablesIn(template: string): string[] {
  return [...new Set([...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name))];
}

function isKnown(name: string): name is (typeof PROMPT_VARIABLES)[number] {
  return (PROMPT_VARIABLES as readonly string[]).includes(name);
}

function unknownVariable(name: string): UserError {
  return new UserError(
    "prompt_variable",
    `The prompt asks for {{${name}}}, which there is not.`,
    `A prompt may use: ${PROMPT_VARIABLES.map((known) => `{{${known}}}`).join(", ")}.`,
  );
}
