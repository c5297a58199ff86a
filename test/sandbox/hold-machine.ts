import { openMachine, shell } from "./machines.js";

/** A program that opens a machine with a daemon, and then waits to be killed. */

const word = process.argv[2];
const machine = await openMachine();
await shell(machine, `setsid sleep ${word} & sleep ${word} & disown -a`);
void shell(machine, "while :; do sleep 1; done", { timeoutMs: 600_000 });
console.log("holding");
setInterval(() => undefined, 1000);
