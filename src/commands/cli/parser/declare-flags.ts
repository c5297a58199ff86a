import type { Argv } from "yargs";
import type { Command } from "../command.js";

export const PARSER_CONFIGURATION = {
  "duplicate-arguments-array": false,
  "boolean-negation": false,
  "strip-aliased": true,
};

/**
 * Declares the boolean flags of all subcommands before the subcommand is known: in `agents --replace import FILE`, the
 * parser would take "import" as the flag's value.
 */
export function hideBooleans(parser: Argv, commands: readonly Command[]): Argv {
  const booleans = commands.flatMap(({ flags }) => Object.entries(flags).filter(([, { type }]) => type === "boolean"));
  const hidden = booleans.map(([name]) => [name, { type: "boolean", global: false, hidden: true }]);
  return parser.options(Object.fromEntries(hidden));
}

/** Declares the arguments and flags of a command. */
export function addFlags({ positionals = {}, flags, help }: Command, parser: Argv): Argv {
  const named = Object.entries(positionals).reduce((rest, [name, options]) => rest.positional(name, options), parser);
  // An array positional needs duplicates to be collected; of a flag that is given twice, the last one still counts.
  const hasArray = Object.values(positionals).some(({ array }) => array === true);
  const coerce = (value: unknown) => (Array.isArray(value) ? value.at(-1) : value);
  // Without a group, yargs lists them below the global flags.
  const grouped = Object.entries(flags).map(([name, options]) => [
    name,
    // Those of a command with a help of its own are listed in that.
    { ...options, group: "Options:", hidden: help !== undefined, ...(hasArray ? { coerce } : {}) },
  ]);
  const complete = named.options(Object.fromEntries(grouped));
  return hasArray
    ? complete.parserConfiguration({ ...PARSER_CONFIGURATION, "duplicate-arguments-array": true })
    : complete;
}
