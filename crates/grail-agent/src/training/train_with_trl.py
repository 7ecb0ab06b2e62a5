"""Trains a LoRA adapter with TRL and PEFT, as one file of settings says, and tells its progress as lines of JSON."""

import json
import math
import sys
import time
from pathlib import Path


def tell(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def number(value):
    """Nothing if it is no number: JSON knows neither NaN nor infinity."""
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None


def main():
    settings = json.loads(Path(sys.argv[1]).read_text())
    try:
        import torch
        from datasets import load_dataset
        from peft import LoraConfig, PeftModel, get_peft_model
        from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
        from transformers.trainer_utils import get_last_checkpoint
        from trl import SFTConfig, SFTTrainer
    except ImportError as error:
        tell(
            "error",
            message=f"the trainer `trl` lacks a package in {sys.executable}: {error}",
            hint="`pip install trl peft` there, or name another Python: `python` under `[train]` in `grail.toml`",
        )
        return 1

    torch.manual_seed(settings["seed"])
    output = Path(settings["output"])
    checkpoints = output / "checkpoints"
    tokenizer = AutoTokenizer.from_pretrained(settings["model"])
    model = AutoModelForCausalLM.from_pretrained(settings["model"])
    if settings["adapter"]:
        model = PeftModel.from_pretrained(model, settings["adapter"], is_trainable=True)
    else:
        layers = model.config.num_hidden_layers
        adapted = settings["layers"] and list(range(layers))[-settings["layers"] :]
        model = get_peft_model(
            model,
            LoraConfig(
                r=settings["rank"],
                lora_alpha=settings["scale"] * settings["rank"],
                target_modules="all-linear",
                layers_to_transform=adapted or None,
                task_type="CAUSAL_LM",
            ),
        )
    data = Path(settings["data"])
    files = {name: str(data / f"{name}.jsonl") for name in ("train", "valid") if (data / f"{name}.jsonl").exists()}
    rows = load_dataset("json", data_files=files)

    class Tell(TrainerCallback):
        def __init__(self):
            self.started = time.monotonic()

        def on_log(self, arguments, state, control, logs=None, **others):
            logs = logs or {}
            seconds = time.monotonic() - self.started
            if "loss" in logs:
                tell(
                    "step",
                    step=state.global_step,
                    loss=number(logs["loss"]),
                    learning_rate=number(logs.get("learning_rate")),
                    seconds=seconds,
                )
            if "eval_loss" in logs:
                tell("checkpoint", step=state.global_step, validation_loss=number(logs["eval_loss"]), seconds=seconds)

    trainer = SFTTrainer(
        model=model,
        processing_class=tokenizer,
        train_dataset=rows["train"],
        eval_dataset=rows.get("valid"),
        callbacks=[Tell()],
        args=SFTConfig(
            output_dir=str(checkpoints),
            max_steps=settings["iterations"],
            per_device_train_batch_size=settings["batch_size"],
            learning_rate=settings["learning_rate"],
            lr_scheduler_type="cosine",
            warmup_steps=settings["warmup"],
            max_length=settings["max_tokens"],
            completion_only_loss=True,
            logging_steps=1,
            save_steps=settings["checkpoint_every"],
            save_total_limit=2,
            eval_strategy="steps" if "valid" in files else "no",
            eval_steps=settings["checkpoint_every"],
            seed=settings["seed"],
            report_to=[],
            disable_tqdm=True,
        ),
    )
    tell("start", iterations=settings["iterations"])
    last = get_last_checkpoint(str(checkpoints)) if settings["resume"] and checkpoints.is_dir() else None
    trainer.train(resume_from_checkpoint=last)
    trainer.model.save_pretrained(str(output))
    tell("done")
    return 0


sys.exit(main())
