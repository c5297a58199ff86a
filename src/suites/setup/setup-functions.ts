import type { SuiteDialect } from "../../domain/tasks/suite-task.js";
import { callCustomFunction } from "../custom/call-custom-function.js";
import { type CustomFunctions, NO_CUSTOM_FUNCTIONS } from "../custom/custom-functions.js";
import type { FunctionNeed } from "../definition/functions/function-need.js";
import { attachInbox } from "./actions/attach-inbox.js";
import { copyFile } from "./actions/copy-file.js";
import { execute } from "./actions/execute.js";
import { runScript } from "./actions/run-script.js";
import { sleep } from "./actions/sleep.js";
import { uploadFile } from "./actions/upload-file.js";
import { uploadScript } from "./actions/upload-script.js";
import { DONE, NEEDS_SCREEN, type SetupAction } from "./setup-action.js";

export interface SetupFunction {
  readonly need: FunctionNeed;
  /** Left out where what it needs is not there, and the task goes on: it only opens a window. */
  readonly isPassedOver: boolean;
  /** Null: the origin has it, and it cannot be done here. */
  readonly run: SetupAction | null;
}

const FILES = (run: SetupAction): SetupFunction => ({ need: "files", isPassedOver: false, run });
const SCRIPT = (run: SetupAction): SetupFunction => ({ need: "script", isPassedOver: false, run });
const needing = (need: FunctionNeed): SetupFunction => ({ need, isPassedOver: false, run: null });

const WINDOW: SetupFunction = { need: "screen", isPassedOver: true, run: async () => NEEDS_SCREEN };
const SCREEN = needing("screen");
const SERVER = needing("server");
const ACCOUNT = needing("account");
const UNSUPPORTED = needing("unsupported");

/** The functions of `config` and `postconfig` that each dialect's origin has. */
const SETUP_FUNCTIONS: Readonly<Record<SuiteDialect, Readonly<Record<string, SetupFunction>>>> = {
  flowbook: {
    upload_file_to_vm: FILES(uploadFile),
    upload_script_and_execute: SCRIPT(uploadScript),
    // Of ART-E's own tasks, which are written in Flowbook's form.
    attach_inbox: { need: "mailbox", isPassedOver: false, run: attachInbox },
  },
  spider2v: {
    copyfile_from_host_to_guest: FILES(copyFile),
    script_and_execute: SCRIPT(runScript),
    execute: SCRIPT(execute),
    command: SCRIPT(execute),
    sleep: FILES(sleep),
    google_chrome_browser: WINDOW,
    launch: WINDOW,
    open: WINDOW,
    activate_window: WINDOW,
    close_window: WINDOW,
    tidy_desktop: WINDOW,
    change_wallpaper: WINDOW,
    chrome_open_tabs: WINDOW,
    chrome_close_tabs: WINDOW,
    act: SCREEN,
    replay: SCREEN,
    update_browse_history: SCREEN,
    copyfile_from_guest_to_host: UNSUPPORTED,
    upload_file: UNSUPPORTED,
    download: SERVER,
    airbyte_webui_init: SERVER,
    astro_webui_init: SERVER,
    astro_refresh_page: SERVER,
    superset_webui_init: SERVER,
    metabase_webui_init: SERVER,
    dagster_webui_init: SERVER,
    dagster_environment_variables: SERVER,
    login: ACCOUNT,
    googledrive: ACCOUNT,
    googledrive_init: ACCOUNT,
    googledrive_login: ACCOUNT,
    hasura_login: ACCOUNT,
    dagster_cloud_webui_login: ACCOUNT,
    bigquery_init: ACCOUNT,
    bigquery_login: ACCOUNT,
    dbt_cloud_init: ACCOUNT,
    dbt_cloud_webui_login: ACCOUNT,
    gcp_upload_keyfile: ACCOUNT,
    gcp_webgui: ACCOUNT,
    gcp_config_webgui: ACCOUNT,
    workarena_task_init: ACCOUNT,
    workarena_unique_fields: ACCOUNT,
    snowflake_init: ACCOUNT,
    snowflake_login: ACCOUNT,
    snowflake_write_sqls_in_new_worksheet: ACCOUNT,
    snowflake_delete_folder: ACCOUNT,
    snowflake_delete_filter: ACCOUNT,
  },
};

/** Null: the dialect has no such function, nor has the user. */
export function findSetupFunction(
  dialect: SuiteDialect,
  name: string,
  custom: CustomFunctions = NO_CUSTOM_FUNCTIONS,
): SetupFunction | null {
  const call = custom.setUp.get(name);
  if (call === undefined) return findBuiltIn(dialect, name);
  return SCRIPT(async (args, { task, machine, options: { accounts }, signal }) => {
    await callCustomFunction(call, args, { task, machine, accounts, signal });
    return DONE;
  });
}

/** Whether the dialect has it, and it can be done here. */
export function hasSetupFunction(dialect: SuiteDialect, name: string): boolean {
  const known = findBuiltIn(dialect, name);
  return known !== null && known.run !== null && !known.isPassedOver;
}

function findBuiltIn(dialect: SuiteDialect, name: string): SetupFunction | null {
  const functions = SETUP_FUNCTIONS[dialect];
  return Object.hasOwn(functions, name) ? (functions[name] ?? null) : null;
}
