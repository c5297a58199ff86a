/**
 * What a function needs of where a task runs. `mailbox`: only imported mail; `files`: only its files; `script`: to run
 * commands; `process`: what the agent started must still run; `screen`, `server`, `account`: what there is none of
 * here. `unsupported`: the origin has it, and it cannot be done here.
 */
export type FunctionNeed = "mailbox" | "files" | "script" | "process" | "screen" | "server" | "account" | "unsupported";
