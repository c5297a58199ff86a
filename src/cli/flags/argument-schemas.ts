// Arguments that name runs (`latest`, a name, an id or the start of one) or a mailbox.
import { z } from "zod";
import { mailbox, runName, text, withTraits } from "../../platform/flag-values.js";

/** Description of a run argument. */
const RUN = "Run id, the start of an id, a run name, or latest";

/** The run argument of a command that works on one run, the newest by default. */
export const latestRun = runName.default("latest").meta({ description: `${RUN} [default: latest]` });

/** The run argument of a command that can also do without a run. */
export const optionalRun = runName.optional().meta({ description: RUN });

/** The run arguments of a command that works on several runs. The default is the newest run. */
export const runNames = withTraits(z.array(text), { completes: "runs" })
  .default(["latest"])
  .transform((runs) => (runs.length === 0 ? ["latest"] : runs));

/** The mailbox argument of a command. */
export const optionalMailbox = mailbox
  .optional()
  .meta({ description: "Email address of the mailbox [default: the only mailbox]" });
