// A thread that reads lists or reports for the server.
import { workerData } from "node:worker_threads";
import { serveCalls } from "../../platform/worker-rpc.js";
import { openStore } from "../../store/open-store.js";
import { type ListCall, listsOf } from "./lists.js";

const { path } = workerData as { readonly path: string };
/** Not read-only, because a list of runs stores the figures that it computes. */
const lists = listsOf(openStore(path, { mustExist: true }));

serveCalls<ListCall, unknown>(({ list, query }) => lists.read(list, query as Parameters<typeof lists.read>[1]));
