// Checks the arguments of a suite function against its schema.
import { z } from "zod";
import { didYouMean } from "../../platform/near-names.js";
import { ATTACH_INBOX, EMAIL_ANSWER, emailAnswerSchema } from "../email-task.js";
import { filePair, imagePair, scriptWithLog, textFilePair } from "../functions/grading-function.js";
import { GETTERS } from "../functions/result-getters.js";
import { type ArgumentSchema, fieldPath, type SuiteFinding } from "../suite-folder.js";
import type { LocatedCall } from "../task/task-file.js";
import { setupArguments } from "../task/task-setup.js";

const text = z.string();
const flag = z.boolean().optional();
const cells = { version: z.number().optional(), cell_type: text.optional() };

/** Argument schemas of Flowbook's evaluation functions. */
const FLOWBOOK: Readonly<Record<string, z.ZodObject>> = {
  are_jupyter_outputs_cleared: z.looseObject({ vm_result: text, expected: z.unknown(), ...cells }),
  compare_csv: filePair.extend({ ignore_order: flag, ignore_case: flag, strict: flag }),
  compare_ipynb_files: filePair,
  compare_jupyterlab_images: imagePair,
  compare_notebook_cells: filePair,
  compare_notebook_outputs: filePair,
  compare_script_logs: scriptWithLog.extend({ rules: z.unknown() }),
  compare_text_file: textFilePair.extend({ ignore_blanks: flag, ignore_case: flag }),
  evaluate_multiple_notebooks: z.looseObject({ operator: text.optional(), comparisons: z.array(z.unknown()) }),
  is_jupyter_cell_executed: z.looseObject({ vm_result: text, expected: z.unknown(), ...cells }),
};

const none = z.looseObject({});

/** Option schemas of Spider2-V's evaluation functions. */
const SPIDER2V: Readonly<Record<string, z.ZodObject>> = {
  are_jupyter_outputs_cleared: z.looseObject(cells),
  check_include_exclude: none,
  check_local_database: z.looseObject({
    db_type: text.optional(),
    check_type: z.array(text).optional(),
    table_targets: z.array(text).optional(),
    view_targets: z.array(text).optional(),
    schema_name: text.optional(),
  }),
  compare_csv: z.looseObject({ ignore_order: flag, ignore_case: flag, strict: flag }),
  compare_jupyterlab_images: none,
  compare_notebook_cells: none,
  compare_notebook_outputs: none,
  compare_table: z.looseObject({ rules: z.array(z.unknown()) }),
  compare_text_file: z.looseObject({ ignore_blanks: flag, ignore_case: flag }),
  diff_text_file: none,
  exact_match: none,
  is_jupyter_cell_executed: z.looseObject(cells),
  literal_match: z.looseObject({ type: text.optional(), ignore_case: flag, ignore_order: flag }),
};

function schemaOf({ role, func }: LocatedCall, dialect: string): ArgumentSchema | null {
  if (func === EMAIL_ANSWER) return emailAnswerSchema;
  if (role === "config" || role === "postconfig") return setupArguments(func);
  if (role !== "metric") return Object.hasOwn(GETTERS, func) ? (GETTERS[func]?.takes ?? null) : null;
  const options = dialect === "flowbook" ? FLOWBOOK : SPIDER2V;
  return Object.hasOwn(options, func) ? (options[func] ?? null) : null;
}

/** Returns problems with a call's arguments: missing, of the wrong type, or probably misspelled. */
export function argumentProblems(
  call: LocatedCall,
  dialect: string,
): Pick<SuiteFinding, "level" | "code" | "field" | "message">[] {
  const schema = schemaOf(call, dialect);
  if (schema === null) return [];
  const { func, arguments: args, argumentsField } = call;
  const names = [schema instanceof z.ZodObject ? [schema] : schema.options]
    .flat()
    .flatMap(({ shape }) => Object.keys(shape));
  const wrong = (schema.safeParse(args).error?.issues ?? []).map(({ path, message }) => {
    const isMissing = path.length === 1 && !Object.hasOwn(args, String(path[0]));
    return {
      level: "error" as const,
      code: "arguments_invalid",
      field: [argumentsField, fieldPath(path)].filter((part) => part !== "").join("."),
      message: isMissing ? `is missing, but ${func} requires it` : message,
    };
  });
  // Tasks about mail can contain additional fields from art-e and other programs.
  const odd =
    func === ATTACH_INBOX || func === EMAIL_ANSWER ? [] : Object.keys(args).filter((name) => !names.includes(name));
  const unknown = odd.map((name) => {
    const hint =
      didYouMean(name, names).trim() || (names.length === 0 ? "It has none." : `Its arguments: ${names.join(", ")}.`);
    return {
      level: "warning" as const,
      code: "argument_unknown",
      field: `${argumentsField}.${name}`,
      message: `is not an argument of ${func}. ${hint}`,
    };
  });
  return [...wrong, ...unknown];
}
