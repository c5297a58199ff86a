import { availableParallelism } from "node:os";
import { table } from "../src/text/format.js";
import type { Quantiles } from "./quantiles.js";
import { benchPlain, benchSuite, type SuiteBench } from "./suite.js";

const AT_ONCE = [1, 8];
const PLAIN_TIMES = 20;

/** Single tasks, eight concurrent tasks, and plain commands. */
export async function printSuiteBench(tasks: number, asJson: boolean): Promise<void> {
  const plain = await benchPlain(PLAIN_TIMES);
  const suites: SuiteBench[] = [];
  for (const atOnce of AT_ONCE) suites.push(await benchSuite(tasks, atOnce));
  const machine = { node: process.version, cores: availableParallelism() };
  if (asJson) return console.log(JSON.stringify({ machine, plain, suites }, null, 2));
  const ms = ({ p50, p95 }: Quantiles) => `${p50.toFixed(0)} / ${p95.toFixed(0)}`;
  const columns = suites.map(
    ({ atOnce, tasksPerSecond }) => `${atOnce} concurrent, ${tasksPerSecond.toFixed(1)} per second`,
  );
  const names = Object.keys(suites[0]?.phases ?? {}) as (keyof SuiteBench["phases"])[];
  const rows = names.map((name) => [name, ...suites.map(({ phases }) => ms(phases[name]))]);
  console.log(table([`${tasks} tasks, ms: p50 / p95`, ...columns], rows));
  console.log(
    `\n${table(
      ["plain command, ms: p50 / p95", ""],
      plain.map(({ what, ms: took }) => [what, ms(took)]),
    )}`,
  );
}
