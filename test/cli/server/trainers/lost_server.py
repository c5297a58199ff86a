"""An episode whose server dies, and one after the server's restart. Waits for a line on standard input before each."""

import json
import sys

from art_e_trl import EnvironmentFailure, MailEnvironment, mail_reward
from first_hit import read_result

environment = MailEnvironment()
environment.reset(split="test", index=0)
environment.email_search("dues")
print(json.dumps({"did": "search"}), flush=True)
sys.stdin.readline()
try:
    environment.email_search("dues")
except EnvironmentFailure:
    (reward,) = mail_reward([environment], [[{"role": "assistant", "content": "an answer"}]])
    print(json.dumps({"reward": reward, "done": environment.done}), flush=True)
sys.stdin.readline()
question = environment.reset(split="test", index=0).split("\n")[0]
hit = read_result(environment.email_search(question))["emails"][0]
environment.return_final_answer("found", [hit["message_id"]])
print(json.dumps({"reward": environment.reward, "done": environment.done}), flush=True)
