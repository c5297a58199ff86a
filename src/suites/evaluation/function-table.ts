import type { SuiteDialect } from "../../domain/tasks/suite-task.js";
import { FLOWBOOK_FUNCTIONS } from "../flowbook/functions.js";
import { SPIDER2V_FUNCTIONS } from "../spider2v/functions.js";
import { GETTERS } from "./getters/getter-table.js";

/**
 * What a function needs: a mailbox, files in the machine, a script run there, a server's process, an account, a screen.
 */
export type FunctionNeed = "mailbox" | "files" | "script" | "process" | "account" | "screen";

/** Functions of set-up are in a table of their own, setup/setup-functions.ts. */
export type FunctionKind = "evaluation" | "getter";

export interface KnownFunction {
  readonly needs: FunctionNeed;
  /** False: the origin has it, and it cannot be graded here. */
  readonly isImplemented: boolean;
}

/** Of the functions that are implemented; the others need files. */
const NEEDS: Readonly<Record<string, FunctionNeed>> = {
  compare_script_logs: "script",
  email_answer: "mailbox",
  vm_command_error: "script",
  vm_command_line: "script",
  vm_script_output: "script",
};

/** Spider2-V's other functions. */
const NOT_IMPLEMENTED: Readonly<Record<FunctionKind, Readonly<Partial<Record<FunctionNeed, readonly string[]>>>>> = {
  evaluation: {
    account: ["check_snowflake_log_message", "is_snowflake_user_created"],
    screen: ["compare_metabase_images", "is_expected_url_pattern_match", "compare_image_list", "compare_images"],
    process: ["check_file_existence"],
  },
  getter: {
    account: [
      "bigquery_connections",
      "bigquery_database_to_zip",
      "bigquery_datasets",
      "bigquery_sql_result_to_csv",
      "bigquery_table_to_csv",
      "dbt_environment_info",
      "dbt_job_info",
      "dbt_project_info",
      "googlesheet_active_file",
      "snowflake_database_schema_to_csv",
      "snowflake_execution_result",
      "snowflake_function_result",
      "snowflake_log_message",
      "snowflake_table_to_csv",
      "snowflake_user_info",
      "snowflake_worksheet_names_in_folder",
      "snowflake_worksheet_sql",
      "snowflake_worksheet_sql_result",
      "workarena_task_result",
    ],
    process: ["airbyte_localhost_page", "metabase_question_sql", "superset_localhost_page", "cloud_file"],
    screen: ["active_tab_info", "active_url_from_accessTree", "html_check", "validate_correct_url"],
    files: ["cache_file", "content_from_vm_file"],
  },
};

/** What is known of a function that a task names; null: no such function. */
export function lookUpFunction(dialect: SuiteDialect, kind: FunctionKind, name: string): KnownFunction | null {
  if (listImplemented(dialect, kind).includes(name)) return { needs: NEEDS[name] ?? "files", isImplemented: true };
  if (dialect === "flowbook") return null;
  for (const [needs, names] of Object.entries(NOT_IMPLEMENTED[kind])) {
    if (names.includes(name)) return { needs: needs as FunctionNeed, isImplemented: false };
  }
  return null;
}

/** The functions of one kind, in alphabetical order. */
export function listFunctions(dialect: SuiteDialect, kind: FunctionKind): readonly string[] {
  const others = dialect === "spider2v" ? Object.values(NOT_IMPLEMENTED[kind]).flat() : [];
  return [...listImplemented(dialect, kind), ...others].sort();
}

/** Flowbook has no getters. */
function listImplemented(dialect: SuiteDialect, kind: FunctionKind): string[] {
  if (kind === "evaluation") return Object.keys(dialect === "flowbook" ? FLOWBOOK_FUNCTIONS : SPIDER2V_FUNCTIONS);
  return dialect === "flowbook" ? [] : Object.keys(GETTERS);
}
