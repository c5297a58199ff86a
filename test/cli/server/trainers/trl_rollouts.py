"""Rollouts of the class for TRL in 64 threads: usage trl_rollouts.py SPLIT [TASKS]. One line of JSON per task."""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from art_e_trl import MailEnvironment, mail_reward, mail_rows
from first_hit import next_call, read_result

environments = threading.local()


def roll_out(row):
    if not hasattr(environments, "mine"):
        environments.mine = MailEnvironment()
    environment = environments.mine
    question = environment.reset(**row).split("\n")[0]
    tools = {"search": environment.email_search, "read": environment.read, "answer": environment.return_final_answer}
    results = []
    while not environment.done:
        kind, arguments = next_call(question, results)
        results.append(read_result(tools[kind](**arguments)))
    (reward,) = mail_reward([environment], [[{"role": "assistant", "content": ""}]])
    return {"index": row["index"], "question": question, "reward": reward}


split, *limit = sys.argv[1:]
with ThreadPoolExecutor(64) as pool:
    for line in pool.map(roll_out, mail_rows(split, int(limit[0]) if limit else None)):
        print(json.dumps(line))
