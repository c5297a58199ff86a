import type { SuiteDialect } from "../../../domain/tasks/suite-task.js";

/**
 * What a function needs of where a task runs. `files`: only its files; `script`: to run commands; `process`: what the
 * agent started must still run; `screen`, `server`, `account`: what there is none of here.
 * `unsupported`: the origin has it, and it cannot be done here.
 */
export type FunctionNeed = "files" | "script" | "process" | "screen" | "server" | "account" | "unsupported";

export interface SetupFunction {
  readonly need: FunctionNeed;
  /** Left out where what it needs is not there, and the task goes on: it only opens a window. */
  readonly isPassedOver: boolean;
}

const needing = (need: FunctionNeed, names: string, isPassedOver = false): [string, SetupFunction][] =>
  names.split(" ").map((name) => [name, { need, isPassedOver }]);

/** The functions of `config` and `postconfig` that each dialect's origin has. */
const SETUP_FUNCTIONS: Readonly<Record<SuiteDialect, ReadonlyMap<string, SetupFunction>>> = {
  flowbook: new Map([...needing("files", "upload_file_to_vm"), ...needing("script", "upload_script_and_execute")]),
  spider2v: new Map([
    ...needing("files", "copyfile_from_host_to_guest copyfile_from_guest_to_host upload_file sleep"),
    ...needing("script", "script_and_execute execute command"),
    ...needing("screen", "google_chrome_browser launch open activate_window close_window tidy_desktop", true),
    ...needing("screen", "change_wallpaper chrome_open_tabs chrome_close_tabs", true),
    ...needing("screen", "act replay update_browse_history"),
    ...needing("server", "download airbyte_webui_init astro_webui_init astro_refresh_page superset_webui_init"),
    ...needing("server", "metabase_webui_init dagster_webui_init dagster_environment_variables"),
    ...needing(
      "account",
      "login googledrive googledrive_init googledrive_login hasura_login dagster_cloud_webui_login",
    ),
    ...needing("account", "bigquery_init bigquery_login dbt_cloud_init dbt_cloud_webui_login"),
    ...needing(
      "account",
      "gcp_upload_keyfile gcp_webgui gcp_config_webgui workarena_task_init workarena_unique_fields",
    ),
    ...needing("account", "snowflake_init snowflake_login snowflake_write_sqls_in_new_worksheet"),
    ...needing("account", "snowflake_delete_folder snowflake_delete_filter"),
  ]),
};

/** Null: the dialect has no such function. */
export function findSetupFunction(dialect: SuiteDialect, name: string): SetupFunction | null {
  return SETUP_FUNCTIONS[dialect].get(name) ?? null;
}
