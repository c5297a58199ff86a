import { UserError } from "../errors.js";

/** Variables a prompt may use as `{{name}}`. */
export const PROMPT_VARIABLES = ["inbox_address", "query_date", "max_turns", "tools"] as const;

export type PromptVariables = Readonly<Record<(typeof PROMPT_VARIABLES)[number], string | number>>;

const PLACEHOLDER = /\{\{([^{}"]{1,300})\}\}/g;

/** Longer text, or text over two lines, is not taken as a variable. */
const NAME = /^[^\n]{1,100}$/;

/** Fills in `{{name}}`; throws for an unknown name. */
export function renderPrompt(template: string, variables: PromptVariables): string {
  return template.replace(PLACEHOLDER, (whole, inside: string) => {
    const name = inside.trim();
    if (!NAME.test(name)) return whole;
    if (isKnown(name)) return String(variables[name]);
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
