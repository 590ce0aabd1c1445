"""The page's callbacks with the real libraries, if these are installed."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from plasticity_lab.outside import Plastic
from tests.docs.pages import fences

PAGE = Path(__file__).parents[2] / "docs/pages/how_to/outside.md"
DRAW = torch.Generator().manual_seed(0)
X, Y = torch.randn(64, 6, generator=DRAW), torch.arange(64) % 3


def block(library: str) -> dict[str, Any]:
    """The names that the page's example for a library defines."""
    pytest.importorskip(library)
    (content,) = [content for language, content in fences(PAGE.read_text()) if f"import {library}\n" in content]
    found: dict[str, Any] = {"Plastic": Plastic}
    exec(content, found)
    return found


@pytest.mark.filterwarnings("ignore")
def test_lightning_steps_and_resumes(tmp_path):
    callback = block("lightning")["KeepPlastic"]
    import lightning  # pyright: ignore[reportMissingImports]

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            torch.random.manual_seed(0)
            self.net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, number):
            return cross_entropy(self(batch[0]), batch[1]) + self.keep.penalty()

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.01)

    def trained(epochs: int, **more: Any) -> tuple[Any, Any, Any]:
        own, module = callback({"redo": {"every": 3, "strength": 0.6}, "l2_init": {}}), Module()
        trainer = lightning.Trainer(
            max_epochs=epochs, callbacks=[own], accumulate_grad_batches=2, accelerator="cpu", default_root_dir=tmp_path,
            enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False, logger=False,
        )  # fmt: skip
        trainer.fit(module, DataLoader(TensorDataset(X, Y), batch_size=8), **more)
        return own, module, trainer

    whole, module, _ = trained(4)
    first, _, trainer = trained(2)
    trainer.save_checkpoint(tmp_path / "half.ckpt")
    again, resumed, _ = trained(4, ckpt_path=tmp_path / "half.ckpt")
    assert [each.keep.state_dict()["updates"] for each in (whole, first, again)] == [16, 8, 16]
    assert whole.keep.measured()["resets"] > 0
    for one, other in zip(module.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.filterwarnings("ignore")
def test_the_trainer_of_transformers_steps(tmp_path):
    callback = block("transformers")["KeepPlastic"]
    import transformers  # pyright: ignore[reportMissingImports]

    config = transformers.BertConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12, num_labels=3
    )
    model = transformers.BertForSequenceClassification(config)
    data = [{"input_ids": torch.arange(5) + at % 10, "labels": int(Y[at])} for at in range(64)]
    arguments = transformers.TrainingArguments(
        str(tmp_path), max_steps=6, per_device_train_batch_size=8, gradient_accumulation_steps=2, report_to=[],
        use_cpu=True, save_strategy="no", logging_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    own = callback("redo", every=2, strength=0.9)
    transformers.Trainer(model, arguments, train_dataset=data, callbacks=[own]).train()
    layers = [f"bert.encoder.layer.{at}.intermediate.dense" for at in range(2)]
    assert own.keep.places == [*layers, "bert.pooler.dense"]
    assert own.keep.state_dict()["updates"] == 6
    assert own.keep.measured()["resets"] > 0
