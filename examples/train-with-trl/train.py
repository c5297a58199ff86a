"""GRPO on ART-E's questions with TRL. `art-e env client --for trl` writes art_e_trl.py, which this program needs."""

import argparse

from art_e_trl import MailEnvironment, mail_dataset, mail_reward
from trl import GRPOConfig, GRPOTrainer

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--model", default="Qwen/Qwen3-0.6B")
parser.add_argument("--split", help="train or test (default: train, if it exists)")
parser.add_argument("--tasks", type=int, help="maximum number of tasks from the split (default: all)")
parser.add_argument("--steps", type=int, default=1)
parser.add_argument("--generations", type=int, default=8, help="episodes per question")
parser.add_argument("--vllm", action="store_true", help="generate with vLLM in this process")
options = parser.parse_args()

config = GRPOConfig(
    output_dir="art-e-grpo",
    max_steps=options.steps,
    num_generations=options.generations,
    per_device_train_batch_size=options.generations,
    # Total tokens of all replies and tool results in an episode. Emails are long.
    max_completion_length=8192,
    # As many turns as the environment allows.
    max_tool_calling_iterations=10,
    chat_template_kwargs={"enable_thinking": False},
    use_vllm=options.vllm,
    vllm_mode="colocate",
    logging_steps=1,
    log_completions=True,
)
trainer = GRPOTrainer(
    model=options.model,
    args=config,
    train_dataset=mail_dataset(options.split, options.tasks),
    environment_factory=MailEnvironment,
    reward_funcs=mail_reward,
)
trainer.train()
