/**
/**
 * What a function needs of where a task runs. `mailbox`: only imported mail; `files`: only its files; `script`: to run
 * commands; `screen`, `server`, `account`: what there is none of here. `unsupported`: the origin has it, and it cannot be
 * done here.
 */
export type FunctionNeed = "mailbox" | "files" | "script" | "screen" | "server" | "account" | "unsupported";
