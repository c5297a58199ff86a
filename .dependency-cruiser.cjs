// The modules, from the bottom up (docs/architecture.md). A module imports only from modules before it in this list.
const MODULES = [
  "platform",
  "statistics",
  "text",
  "store",
  "tasks",
  "mail",
  "attacks",
  "models",
  "traces",
  "sandbox",
  "tools",
  "agents",
  "scoring",
  "evals",
  "error-analysis",
  "trace-formats",
  "questions",
  "suites",
  "analysis",
  "reports",
  "results",
  "runs",
  "training",
  "queue",
  "server",
  "web",
  "library",
  "cli",
];

const pathOf = (modules) => `^src/(${modules.join("|")})/`;

/** Packages for some commands only. platform/optional-packages.ts reports a missing one. */
const optionalPeers = Object.keys(require("./package.json").peerDependencies);

const upward = MODULES.slice(0, -1).map((module, i) => ({
  name: `no-upward-from-${module}`,
  severity: "error",
  comment: "If a lower module needs something from a higher one, it receives it as an argument.",
  from: { path: pathOf([module]) },
  to: { path: `${pathOf(MODULES.slice(i + 1))}|^src/(cli|library)\\.ts$` },
}));

module.exports = {
  forbidden: [
    ...upward,
    {
      name: "public-files-only",
      severity: "error",
      comment: "Other modules import only the files directly in a module's folder.",
      from: { path: "^src/([^/.]+)" },
      to: { path: "^src/[^/]+/[^/]+/", pathNot: "^src/$1/" },
    },
    {
      name: "no-circular",
      severity: "error",
      comment: "Type imports count.",
      from: {},
      to: { circular: true },
    },
    {
      name: "known-modules-only",
      severity: "error",
      comment: "Every file belongs to a module.",
      from: { path: "^src/", pathNot: `${pathOf(MODULES)}|^src/(cli|library)\\.ts$` },
      to: {},
    },
    {
      name: "named-packages-only",
      severity: "error",
      comment: "Packages of devDependencies are built in (build.js).",
      from: { path: "^src/" },
      to: {
        pathNot: `node_modules/(${optionalPeers.join("|")})/`,
        dependencyTypes: ["npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "not-to-test",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^test/" },
    },
    { name: "resolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "node", "default"] },
  },
};
