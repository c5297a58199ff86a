-- Each trace says what it is: the answer to a question, a suite task, or a chat. Damaged traces stay as they are.

UPDATE traces
SET trace = '{"kind":"' || CASE
    WHEN run_id IS NULL THEN 'chat'
    WHEN json_type(trace, '$.grade') IS NULL THEN 'question'
    ELSE 'suite'
  END || '",' || substr(trace, 2)
WHERE json_valid(trace) AND substr(trace, 1, 2) = '{"';
