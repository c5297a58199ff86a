-- Agents without a language model for tasks of suites: what a suite's oracle file has, and nothing at all.

-- The ids become built in. A tool or agent of the user's own that has one of them is kept under another.
INSERT INTO tools (id, name, description, parameters_schema, handler_key, handler_config, category, created_at)
SELECT 'own_' || id, name, description, parameters_schema, handler_key, handler_config, category, created_at
FROM tools WHERE id = 'apply_oracle';
UPDATE agent_tools SET tool_id = 'own_apply_oracle' WHERE tool_id = 'apply_oracle';
DELETE FROM tools WHERE id = 'apply_oracle';

INSERT INTO agents (id, name, description, prompt, model, settings, created_at)
SELECT 'own-' || id, name, description, prompt, model, settings, created_at FROM agents WHERE id IN ('oracle', 'noop');
UPDATE agent_tools SET agent_id = 'own-' || agent_id WHERE agent_id IN ('oracle', 'noop');
DELETE FROM agents WHERE id IN ('oracle', 'noop');

INSERT INTO tools (id, name, description, parameters_schema, handler_key, category, builtin) VALUES
('apply_oracle', 'Apply Oracle',
 'Put in place what the oracle file says that an agent leaves behind for this task. Only runs of the model offline/oracle have an oracle file.',
 '{"type": "object", "properties": {}, "additionalProperties": false}', 'apply_oracle', 'machine', 1);

INSERT INTO agents (id, name, description, prompt, model, settings, builtin) VALUES
('oracle', 'Oracle',
 'No language model: puts in place what a suite''s oracle file has for a task, to check the suite. Its score is the highest that a task can have.',
 'Put in place what the oracle file has for this task.',
 'offline/oracle', '{"maxTurns": 3, "maxTokens": 2048}', 1),
('noop', 'No Operation',
 'No language model: does nothing. What it scores is what a task gives for nothing.',
 'Do nothing.',
 'offline/noop', '{"maxTurns": 3, "maxTokens": 2048}', 1);

INSERT INTO agent_tools (agent_id, tool_id, config) VALUES
('oracle', 'apply_oracle', NULL),
('oracle', 'return_final_answer', NULL),
('noop', 'return_final_answer', NULL);
