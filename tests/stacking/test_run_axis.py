import torch

from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.run_axis import aligned, on_run_axis


def test_real_settings_lie_on_the_run_axis_in_the_order_of_the_runs():
    settings = on_run_axis([Adam(lr=0.1), Adam(lr=0.2, beta2=0.5)], dtype=torch.float64)
    assert settings["lr"].tolist() == [0.1, 0.2]
    assert settings["beta2"].tolist() == [0.999, 0.5]
    assert "reset" not in settings


def test_rows_are_aligned_to_16_bytes():
    assert [aligned(count) for count in (1, 4, 10, 91, 100)] == [4, 4, 12, 92, 100]
