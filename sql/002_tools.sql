-- The built-in tools. A model reads the description and the JSON Schema of each tool's parameters.
-- `handler_key` names the code that executes a call (src/tools/load-tools.ts).

INSERT INTO tools (id, name, description, parameters_schema, handler_key, category, builtin) VALUES
('email_search', 'Search Emails',
 'Search one mailbox. Returns the mails that match the words of the query best, best first; "match" says whether a mail has all of them. Words in double quotes count more where they stand together. Returns message_id, subject, sender, date and a snippet of each mail; use email_get to read one whole.',
 '{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "Words to look for in subject and body; a whole question is fine"},
    "inbox_id": {"type": "string", "description": "The mailbox to search: its email address"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "How many mails to return"},
    "from": {"type": "string", "description": "Only mail sent by this address, or by people with these words in their name or address"},
    "to": {"type": "string", "description": "Only mail to, cc or bcc this address, or people with these words in their name or address"},
    "sent_after": {"type": "string", "format": "date", "description": "Only mail sent on or after this day, YYYY-MM-DD"},
    "sent_before": {"type": "string", "format": "date", "description": "Only mail sent before this day, YYYY-MM-DD"}
  },
  "required": ["query", "inbox_id"],
  "additionalProperties": false
}',
 'email_search', 'email', 1),

('email_get', 'Read Email',
 'Read one mail whole, by its message_id: subject, sender, recipients, date and body. A very long body comes in pages; the result then says at which offset to go on.',
 '{
  "type": "object",
  "properties": {
    "message_id": {"type": "string", "minLength": 1, "description": "The message_id of a search result, with its angle brackets"},
    "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Character of the body to start at"}
  },
  "required": ["message_id"],
  "additionalProperties": false
}',
 'email_get', 'email', 1),

('search_emails', 'Search Emails (ART)',
 'Search the user''s mailbox for mails that hold all of the given keywords, newest first. Returns message_id and a snippet of each.',
 '{
  "type": "object",
  "properties": {
    "keywords": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 50, "description": "Keywords that must all occur in the subject or body"},
    "from_addr": {"type": "string", "description": "Only mail sent by this address"},
    "to_addr": {"type": "string", "description": "Only mail to, cc or bcc this address"},
    "sent_after": {"type": "string", "format": "date", "description": "Only mail sent on or after this day, YYYY-MM-DD"},
    "sent_before": {"type": "string", "format": "date", "description": "Only mail sent before this day, YYYY-MM-DD"},
    "max_results": {"type": "integer", "minimum": 1, "maximum": 10, "default": 10, "description": "How many mails to return"}
  },
  "required": ["keywords"],
  "additionalProperties": false
}',
 'search_emails', 'email', 1),

('read_email', 'Read Email (ART)',
 'Read one mail whole, by the message_id of a search result.',
 '{
  "type": "object",
  "properties": {
    "message_id": {"type": "string", "minLength": 1, "description": "The message_id of a search result, with its angle brackets"}
  },
  "required": ["message_id"],
  "additionalProperties": false
}',
 'email_get', 'email', 1),

('return_final_answer', 'Final Answer',
 'Give the answer and end. If the mailbox does not hold the answer, say "I don''t know" and give no sources.',
 '{
  "type": "object",
  "properties": {
    "answer": {"type": "string", "description": "The answer to the question, as short as is complete"},
    "sources": {"type": "array", "items": {"type": "string"}, "description": "The message_ids of the mails that the answer rests on"}
  },
  "required": ["answer", "sources"],
  "additionalProperties": false
}',
 'return_final_answer', 'answer', 1),

('execute_python', 'Execute Python',
 'Run a Python 3 program and get what it prints: {stdout, stderr, exit_code, timed_out, truncated}. Only what is printed comes back, so print results; variables do not stay for later calls, files do. Where the task has a machine, it runs there, in the home folder, with the packages of that machine, up to 120 seconds. Else it runs in the workspace of this task, in a sandbox with the standard library, no network, 5 seconds and 512 MB.',
 '{
  "type": "object",
  "properties": {
    "code": {"type": "string", "minLength": 1, "maxLength": 200000, "description": "Python source"}
  },
  "required": ["code"],
  "additionalProperties": false
}',
 'execute_python', 'code', 1),

('read_file', 'Read File',
 'Read a text file of the task''s machine, or of the workspace where there is none, page by page. Each line comes behind its number and a tab; next_offset says where to go on, or is null at the end. Binary files are refused.',
 '{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Path inside the workspace, such as notes/a.txt; in a machine an absolute path, or one from the home folder"},
    "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "Number of the line to start at"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 200, "description": "How many lines to return"}
  },
  "required": ["path"],
  "additionalProperties": false
}',
 'read_file', 'filesystem', 1),

('write_file', 'Write File',
 'Make or replace a text file (UTF-8) of the task''s machine, or of the workspace where there is none, with the folders above it.',
 '{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Path inside the workspace, such as notes/a.txt; in a machine an absolute path, or one from the home folder"},
    "content": {"type": "string", "maxLength": 1000000, "description": "What the file shall hold"}
  },
  "required": ["path", "content"],
  "additionalProperties": false
}',
 'write_file', 'filesystem', 1),

('list_files', 'List Files',
 'List the files and folders of the task''s machine, or of the workspace where there is none, with their sizes in bytes. In a machine, folders whose names begin with a dot are named without what is in them.',
 '{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 1000, "default": ".", "description": "Folder inside the workspace; in a machine an absolute path, or one from the home folder"}
  },
  "additionalProperties": false
}',
 'list_files', 'filesystem', 1),

('run_shell', 'Run Shell',
 'Run a command with bash in the task''s machine and get {stdout, stderr, exit_code, timed_out, truncated}; of a long output the beginning and the end. Each call is a new shell that starts in the home folder: files stay, variables and the working folder do not. A program that shall go on after the call is started in the background with &, and its output sent to a file.',
 '{
  "type": "object",
  "properties": {
    "command": {"type": "string", "minLength": 1, "maxLength": 30000, "description": "What bash shall run: one line or a script"},
    "cwd": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Folder to run it in; the home folder where it is not given"},
    "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 600, "default": 60, "description": "When it is stopped"}
  },
  "required": ["command"],
  "additionalProperties": false
}',
 'run_shell', 'machine', 1),

('run_notebook', 'Run Notebook',
 'Run all cells of a Jupyter notebook of the task''s machine in order, in a new kernel and in the notebook''s folder, and save it in place with its outputs. Returns what each cell printed, its result as text, and the error of the cell that failed; the notebook is saved then too. Pictures are named, not shown.',
 '{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "The .ipynb file: an absolute path, or one from the home folder"},
    "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 1800, "default": 300, "description": "When it is stopped, for all cells together"},
    "continue_on_error": {"type": "boolean", "default": false, "description": "Whether to run the cells after one that fails"}
  },
  "required": ["path"],
  "additionalProperties": false
}',
 'run_notebook', 'machine', 1),

('search_documents', 'Search Documents',
 'Search the documentation that comes with the task, or open one of its documents. With query: the parts that match best, each with the path of its document, the offset where it begins and a snippet. With path: that document from offset on; next_offset says where to go on, or is null at the end.',
 '{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "Words to look for; double quotes keep words together"},
    "path": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Path of a document to open, as a search result gives it"},
    "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Character of the document to start at"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "How many results of a search to return"}
  },
  "additionalProperties": false
}',
 'search_documents', 'documents', 1),

('apply_oracle', 'Apply Oracle',
 'Put in place what the oracle file says that an agent leaves behind for this task. Only runs of the model offline/oracle have an oracle file.',
 '{"type": "object", "properties": {}, "additionalProperties": false}',
 'apply_oracle', 'machine', 1);
