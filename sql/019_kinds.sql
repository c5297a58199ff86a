-- Each trace says what it is: the answer to a question, a suite task, or a chat. Damaged traces stay as they are.

UPDATE traces
SET trace = '{"kind":"' || CASE
    WHEN run_id IS NULL THEN 'chat'
    WHEN json_type(trace, '$.grade') IS NULL THEN 'question'
    ELSE 'suite'
  END || '",' || substr(trace, 2)
WHERE json_valid(trace) AND substr(trace, 1, 2) = '{"';

-- The settings of a run depend on who answered. Settings that were unknown had default values, and are removed.

UPDATE runs
SET settings = '{"kind":"own",' || substr(settings, 2)
WHERE iif(json_valid(settings) AND substr(settings, 1, 2) = '{"',
  coalesce(settings -> '$.elsewhere', settings -> '$.imported', settings -> '$.environment') IS NULL, FALSE);

UPDATE runs
SET settings = '{"kind":"external",' || substr(json_set(json_remove(settings,
    '$.elsewhere', '$.agentVersion', '$.baseUrl', '$.wireApi', '$.prompt', '$.toolsDigest', '$.mailFilter', '$.maxTokens',
    '$.reasoningTokens', '$.temperature', '$.reasoningEffort', '$.toolCalls', '$.toolChoice', '$.sent', '$.maxTaskCostUsd',
    '$.unsafeHostPython', '$.oracle'), '$.externalAgent', settings -> '$.elsewhere'), 2)
WHERE iif(json_valid(settings), settings -> '$.elsewhere', NULL) IS NOT NULL;

UPDATE runs
SET settings = '{"kind":"training",' || substr(json_remove(settings,
    '$.baseUrl', '$.wireApi', '$.maxTokens', '$.temperature', '$.toolCalls', '$.toolChoice', '$.maxTaskCostUsd', '$.price'), 2)
WHERE iif(json_valid(settings), settings -> '$.environment', NULL) IS NOT NULL;

-- json_patch removes the properties that are null in its second argument.
UPDATE runs
SET settings = '{"kind":"imported",' || substr(json_patch(
    json_remove(settings, '$.baseUrl', '$.wireApi', '$.toolsDigest', '$.toolCalls', '$.toolChoice', '$.cutoff', '$.price',
      '$.concurrency'),
    (SELECT json_group_object(key, NULL) FROM json_each(settings)
     WHERE (key, json_quote(value)) IN (VALUES ('agentVersion', '0'), ('prompt', '""'), ('maxTokens', '2048'),
       ('temperature', 'null'), ('taskTimeoutMs', '600000'), ('maxTaskCostUsd', 'null'), ('selection', '{}')))), 2)
WHERE iif(json_valid(settings), settings -> '$.imported', NULL) IS NOT NULL;
