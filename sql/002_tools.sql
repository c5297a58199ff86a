-- The built-in tools. A model reads the description and the JSON Schema of each tool's parameters.
-- `handler_key` names the code that executes a call (src/tools/load-tools.ts).

INSERT INTO tools (id, name, description, parameters_schema, handler_key, category, builtin) VALUES
('email_search', 'Search Emails',
 'Search one mailbox. Returns the emails that best match the words of the query, best first; "match" shows whether an email contains all of them. Without a query, lists the emails that pass the filters, newest first; "total" is their number. Words in double quotes count more if they are next to each other. Each result has message_id, subject, sender, date and a snippet; use email_get to read the entire email.',
 '{
  "type": "object",
  "properties": {
    "query": {"type": "string", "maxLength": 2000, "description": "Words to search for in subject and body; an entire question is fine"},
    "inbox_id": {"type": "string", "description": "The mailbox to search: its email address"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "Maximum number of emails to return"},
    "from": {"type": "string", "description": "Only emails sent by this address, or by people whose name or address contains these words"},
    "to": {"type": "string", "description": "Only emails to, cc or bcc this address, or people whose name or address contains these words"},
    "sent_after": {"type": "string", "format": "date", "description": "Only emails sent on or after this date, YYYY-MM-DD"},
    "sent_before": {"type": "string", "format": "date", "description": "Only emails sent before this date, YYYY-MM-DD"}
  },
  "required": ["inbox_id"],
  "additionalProperties": false
}',
 'email_search', 'email', 1),

('email_get', 'Read Email',
 'Read an entire email by its message_id: subject, sender, recipients, date and body. A very long body comes in pages; the result then has the offset of the next page.',
 '{
  "type": "object",
  "properties": {
    "message_id": {"type": "string", "minLength": 1, "description": "The message_id of a search result, with its angle brackets"},
    "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Position in the body of the first character to return"}
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
 'Run a Python 3 program. Returns {stdout, stderr, exit_code, timed_out, truncated}. Only printed output is returned, so print the results. Files remain for later calls, variables do not. If the task has a machine, the program runs there in the home folder, with the machine''s packages, for at most 120 seconds. Otherwise it runs in the task''s workspace, in a sandbox with the standard library and without a network, for at most 5 seconds and with at most 512 MB.',
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
 'Read a text file page by page, on the task''s machine or, in tasks without one, in the workspace. Each line starts with its number and a tab. next_offset is the first line of the next page, or null at the end. Binary files are rejected.',
 '{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Path inside the workspace, such as notes/a.txt; on a machine, an absolute path or a path relative to the home folder"},
    "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "Number of the first line to return"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 200, "description": "Maximum number of lines to return"}
  },
  "required": ["path"],
  "additionalProperties": false
}',
 'read_file', 'filesystem', 1),

('write_file', 'Write File',
 'Create or replace a text file (UTF-8) on the task''s machine or, in tasks without one, in the workspace. Missing parent folders are created.',
 '{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Path inside the workspace, such as notes/a.txt; on a machine, an absolute path or a path relative to the home folder"},
    "content": {"type": "string", "maxLength": 1000000, "description": "The new content of the file"}
  },
  "required": ["path", "content"],
  "additionalProperties": false
}',
 'write_file', 'filesystem', 1),

('list_files', 'List Files',
 'List files and folders with their sizes in bytes, on the task''s machine or, in tasks without one, in the workspace. On a machine, folders whose names start with a dot are listed without their contents.',
 '{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 1000, "default": ".", "description": "Folder inside the workspace; on a machine, an absolute path or a path relative to the home folder"}
  },
  "additionalProperties": false
}',
 'list_files', 'filesystem', 1),

('run_shell', 'Run Shell',
 'Run a command with bash on the task''s machine. Returns {stdout, stderr, exit_code, timed_out, truncated}. A long output is truncated in the middle. Each call starts a new shell in the home folder. Files remain for later calls, variables and the working folder do not. To keep a program running after the call, start it in the background with & and redirect its output to a file.',
 '{
  "type": "object",
  "properties": {
    "command": {"type": "string", "minLength": 1, "maxLength": 30000, "description": "Command line or script for bash"},
    "cwd": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Working folder. The default is the home folder"},
    "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 600, "default": 60, "description": "Timeout in seconds"}
  },
  "required": ["command"],
  "additionalProperties": false
}',
 'run_shell', 'machine', 1),

('run_notebook', 'Run Notebook',
 'Run all cells of a Jupyter notebook on the task''s machine in order, in a new kernel and in the notebook''s folder, and save the notebook in place with its outputs. Returns the printed output of each cell, its result as text, and the error of a failed cell. The notebook is also saved if a cell fails. Pictures are listed, not shown.',
 '{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "The .ipynb file: an absolute path or a path relative to the home folder"},
    "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 1800, "default": 300, "description": "Timeout for all cells together, in seconds"},
    "continue_on_error": {"type": "boolean", "default": false, "description": "Whether to run the cells after a failed cell"}
  },
  "required": ["path"],
  "additionalProperties": false
}',
 'run_notebook', 'machine', 1),

('search_documents', 'Search Documents',
 'Search the task''s documentation, or open one of its documents. With query, returns the parts that match best, each with the path of its document, its offset and a snippet. With path, returns that document, starting at offset. next_offset is the start of the next page, or null at the end.',
 '{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "Words to search for. Double quotes keep words together"},
    "path": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Path of the document to open, from a search result"},
    "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Position in the document of the first character to return"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "Maximum number of search results"}
  },
  "additionalProperties": false
}',
 'search_documents', 'documents', 1),

('apply_oracle', 'Apply Oracle',
 'Apply the oracle file''s solution for this task. Only runs of the model offline/oracle have an oracle file.',
 '{"type": "object", "properties": {}, "additionalProperties": false}',
 'apply_oracle', 'machine', 1),

('label_emails', 'Label Emails',
 'Add labels to emails and remove labels from them. A label that does not exist yet is created. Returns the labels, folder and marks of each email.',
 '{
  "type": "object",
  "properties": {
    "message_ids": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 200, "description": "The message_ids of the emails"},
    "add": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 200}, "default": [], "description": "Names of the labels to add"},
    "remove": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 200}, "default": [], "description": "Names of the labels to remove"}
  },
  "required": ["message_ids"],
  "additionalProperties": false
}',
 'label_emails', 'actions', 1),

('move_emails', 'Move Emails',
 'Move emails to a folder, such as "archive". A folder that does not exist yet is created. At the start, received emails are in "inbox" and the user''s own in "sent".',
 '{
  "type": "object",
  "properties": {
    "message_ids": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 200, "description": "The message_ids of the emails"},
    "folder": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Name of the folder"}
  },
  "required": ["message_ids", "folder"],
  "additionalProperties": false
}',
 'move_emails', 'actions', 1),

('mark_emails', 'Mark Emails',
 'Mark emails as read or unread, and set or remove their flag. At the start, all emails are read and none is flagged.',
 '{
  "type": "object",
  "properties": {
    "message_ids": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 200, "description": "The message_ids of the emails"},
    "unread": {"type": "boolean", "description": "true marks them as unread, false as read"},
    "flagged": {"type": "boolean", "description": "true sets the flag, false removes it"}
  },
  "required": ["message_ids"],
  "additionalProperties": false
}',
 'mark_emails', 'actions', 1),

('create_draft', 'Create Draft',
 'Save a new email, a reply or a forward as a draft. It is not sent. A reply goes to the sender of the email, or with reply_all also to its other recipients, unless you pass other recipients. Returns the draft with its draft_id.',
 '{
  "type": "object",
  "properties": {
    "to": {"type": "array", "items": {"type": "string"}, "maxItems": 100, "description": "Email addresses of the recipients. Optional for a reply"},
    "cc": {"type": "array", "items": {"type": "string"}, "maxItems": 100, "description": "Email addresses that get a copy"},
    "bcc": {"type": "array", "items": {"type": "string"}, "maxItems": 100, "description": "Email addresses that get a hidden copy"},
    "subject": {"type": "string", "maxLength": 2000, "description": "Subject. By default, that of the original email with Re: or Fwd:"},
    "body": {"type": "string", "maxLength": 200000, "default": "", "description": "Text of the email"},
    "reply_to": {"type": "string", "minLength": 1, "description": "The message_id of the email to reply to"},
    "reply_all": {"type": "boolean", "default": false, "description": "Whether the reply goes to all recipients of the email"},
    "forward": {"type": "string", "minLength": 1, "description": "The message_id of the email to forward"}
  },
  "additionalProperties": false
}',
 'create_draft', 'actions', 1),

('list_drafts', 'List Drafts',
 'List all drafts in the mailbox, with their draft_id, recipients, subject and text.',
 '{"type": "object", "properties": {}, "additionalProperties": false}',
 'list_drafts', 'actions', 1),

('send_draft', 'Send Draft',
 'Send a draft. A sent email cannot be recalled.',
 '{
  "type": "object",
  "properties": {
    "draft_id": {"type": "string", "minLength": 1, "description": "The draft_id from create_draft or list_drafts"}
  },
  "required": ["draft_id"],
  "additionalProperties": false
}',
 'send_draft', 'actions', 1),

('discard_draft', 'Discard Draft',
 'Delete a draft.',
 '{
  "type": "object",
  "properties": {
    "draft_id": {"type": "string", "minLength": 1, "description": "The draft_id from create_draft or list_drafts"}
  },
  "required": ["draft_id"],
  "additionalProperties": false
}',
 'discard_draft', 'actions', 1);
