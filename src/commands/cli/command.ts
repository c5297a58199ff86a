import type { Options, PositionalOptions } from "yargs";
import type { AppContext } from "../../app/context.js";
import type { ExitCode } from "../../domain/errors.js";
import type { Interrupts } from "./interrupt.js";
import type { Output } from "./output.js";
import type { Settings } from "./settings.js";

/** What a command gets besides its flags. */
export interface CommandContext extends AppContext, Interrupts {
  readonly settings: Settings;
  readonly out: Output;
}

/** Flags by name, as yargs takes them. Defaults stand in the command's schema, and for the reader in the description. */
export type Flags = Readonly<Record<string, Options>>;

/** One command: its flags, and what it does with them. Its name and usage are in `cli.ts`. */
export interface Command {
  readonly positionals?: Readonly<Record<string, PositionalOptions & Pick<Options, "defaultDescription">>>;
  readonly flags: Flags;
  run(argv: Readonly<Record<string, unknown>>, context: CommandContext): Promise<ExitCode>;
}
