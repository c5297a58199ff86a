import { UserError } from "../domain/errors.js";

/** What a prompt may ask for as `{{name}}`. */
export const PROMPT_VARIABLES = ["inbox_address", "query_date", "max_turns"] as const;

type PromptVariables = Readonly<Record<(typeof PROMPT_VARIABLES)[number], string | number>>;

/** Fills in `{{name}}`; a name that nobody knows is an error, not a hole in the prompt. */
export function renderPrompt(template: string, variables: PromptVariables): string {
  return template.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (_, name: string) => {
    if (Object.hasOwn(variables, name)) return String(variables[name as keyof PromptVariables]);
    throw new UserError(
      "prompt_variable",
      `The prompt asks for {{${name}}}, which there is not.`,
      `A prompt may use: ${PROMPT_VARIABLES.map((known) => `{{${known}}}`).join(", ")}.`,
    );
  });
}
