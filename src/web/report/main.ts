// Entry point of a report in its own file.
import { h } from "../dom.js";
import { listenForPageKeys } from "../page-keys.js";
import { themeButton } from "../theme-button.js";
import { header } from "./header.js";
import { EmbeddedTraces, loadReport } from "./load.js";
import { ReportView } from "./report-view.js";

const { head, tasks } = loadReport();
const report = new ReportView(head, tasks, new EmbeddedTraces(head.traces), {
  signal: new AbortController().signal,
  first: "byId",
  links: () => [],
});

document
  .getElementById("report")
  ?.append(
    h("a.skip", { href: "#tasks" }, "To the tasks"),
    header(head, [themeButton(), h("button.quiet", { click: () => print() }, "Print")]),
    h("main", report.sections),
    report.dialog,
  );

listenForPageKeys();
addEventListener("hashchange", () => report.applyUrl());
report.applyUrl();
