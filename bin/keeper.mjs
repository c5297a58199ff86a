// Starts a program for art-e and ends it, with all that it has started, when art-e is gone, however that came about.
// Descriptor 3 is held open by art-e: its end is art-e's. How the program ended is written there as one line of JSON.
import { spawn } from "node:child_process";
import { Socket } from "node:net";

const [program, ...args] = process.argv.slice(2);
const parent = new Socket({ fd: 3 });
const endGroup = () => process.kill(-process.pid, "SIGKILL");
parent.on("end", endGroup).on("close", endGroup).on("error", endGroup).resume();

const tell = (end) => parent.write(`${JSON.stringify(end)}\n`);
const child = spawn(program, args, { stdio: "inherit" });
child.on("error", (error) => tell({ error: error.code ?? error.message }));
child.on("exit", (code, signal) => tell({ code, signal }));
