/** Limits, as JSON, that no way of steering a run accepts: the command line, the API of the page, socket or queue. */
export const OUT_OF_BOUNDS = [
  "{}",
  "null",
  '{"taskTimeoutMs":1e12}',
  '{"taskTimeoutMs":0}',
  '{"taskTimeoutMs":1e999}',
  '{"maxTimeMs":2147483648}',
  '{"maxTimeMs":"5"}',
  '{"concurrency":0}',
  '{"concurrency":1.5}',
  '{"rpm":-1}',
  '{"tpm":null}',
  '{"maxTokens":0.5}',
  '{"maxCostUsd":false}',
  '{"rpm":9,"unknown":1}',
];
