/**
 * Watches a run from inside (`node --import`): how late its loop was while it began, while tasks were under way and after
 * the last reply; what held it; and its peak of memory. Prints it on stderr when the process ends.
 */
import { subscribe } from "node:diagnostics_channel";
import { createHistogram, PerformanceObserver } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";
import Database from "better-sqlite3";

if (isMainThread) watch();

function watch() {
  const loop = watchLoop();
  const sqlite = watchSqlite();
  const gc = { longest: 0, total: 0 };
  const collections = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      gc.longest = Math.max(gc.longest, duration);
      gc.total += duration;
    }
  });
  collections.observe({ entryTypes: ["gc"] });
  process.on("exit", () => {
    const peakMegabytes = process.resourceUsage().maxRSS / 1024;
    const figures = { peakMegabytes, loopDelayMs: loop(), sqliteMs: sqlite(), gcMs: gc };
    process.stderr.write(`\nfigures ${JSON.stringify(figures)}\n`);
  });
}

/** A timer of a millisecond tells by how much it was late. */
function watchLoop() {
  const start = createHistogram();
  const underWay = createHistogram();
  const sinceReply = createHistogram();
  let isUnderWay = false;
  let hasReply = false;
  subscribe("undici:request:create", () => {
    isUnderWay = true;
  });
  subscribe("undici:request:trailers", () => {
    hasReply = true;
  });
  let last = performance.now();
  const tick = () => {
    const now = performance.now();
    (isUnderWay ? sinceReply : start).record(Math.max(1, Math.round((now - last - 1) * 1_000)));
    last = now;
    if (!hasReply) return;
    hasReply = false;
    underWay.add(sinceReply);
    sinceReply.reset();
  };
  setInterval(tick, 1).unref();
  const longest = (histogram) => (histogram.count === 0 ? 0 : histogram.max / 1_000);
  return () => {
    tick();
    return {
      start: longest(start),
      underWay: { p99: underWay.percentile(99) / 1_000, max: longest(underWay) },
      end: longest(sinceReply),
    };
  };
}

/** All that SQLite does on the main thread between one turn of the loop and the next counts as one. */
function watchSqlite() {
  const figures = { longestTurn: 0, total: 0 };
  let turn = 0;
  const add = (ms) => {
    if (turn === 0) setImmediate(endTurn);
    turn += Math.max(ms, Number.MIN_VALUE);
  };
  const endTurn = () => {
    figures.longestTurn = Math.max(figures.longestTurn, turn);
    figures.total += turn;
    turn = 0;
  };
  const timed = (prototype, names) => {
    for (const name of names) {
      const method = prototype[name];
      prototype[name] = function (...args) {
        const before = performance.now();
        try {
          return method.apply(this, args);
        } finally {
          add(performance.now() - before);
        }
      };
    }
  };
  const db = new Database(":memory:");
  const statement = db.prepare("SELECT 1");
  const rows = statement.iterate();
  timed(Object.getPrototypeOf(rows), ["next"]);
  rows.return();
  timed(Object.getPrototypeOf(statement), ["run", "get", "all", "iterate"]);
  timed(Object.getPrototypeOf(db), ["prepare", "exec", "pragma", "close"]);
  db.close();
  return () => {
    endTurn();
    return figures;
  };
}
