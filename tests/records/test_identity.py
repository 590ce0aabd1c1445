import hashlib

import numpy as np
import pytest

from plasticity_lab.errors import ConfigError
from plasticity_lab.records.identity import canonical_json, pack_id, run_id, run_id_of, spelled, sweep_id

SCIENCE = {"seed": 0, "activation": {"name": "leaky_relu", "negative_slope": 0.6}, "optimizer": {"lr": 1e-3}}


def test_the_id_of_a_run_is_what_it_was_when_the_first_records_were_written():
    # printf '%s' '{"activation":…}' | sha256sum: a change here makes strangers of all records in all stores.
    text = '{"activation":{"name":"leaky_relu","negative_slope":0.6},"optimizer":{"lr":0.001},"seed":0}'
    assert canonical_json(SCIENCE) == text
    assert run_id(SCIENCE) == "88702f6471a6"


@pytest.mark.parametrize("science", [SCIENCE, {}, {"ü": {"b": [1.0, None]}, "A": 'a "word"', "a": {}}])
def test_an_id_made_of_members_is_that_of_the_whole(science):
    assert run_id_of(spelled(science)) == run_id(science)
    assert run_id(science) == hashlib.sha256(canonical_json(science).encode()).hexdigest()[:12]


@pytest.mark.parametrize("same", [1, 1.0, np.float64(1)])
def test_equal_numbers_are_spelled_alike(same):
    assert canonical_json({"x": same}) == '{"x":1}'


def test_numbers_that_differ_are_spelled_apart():
    values = [0.1, 0.1 + 1e-17, 0.1 + 2e-17, 1, True, "1", None, 10**17, 1e17 + 16]
    assert len(set(map(canonical_json, values))) == 8  # 0.1 + 1e-17 is the float 0.1; 0.1 + 2e-17 is the next
    assert canonical_json(-0.0) == canonical_json(0)
    assert canonical_json(1e22) == canonical_json(10**22)


def test_order_of_keys_and_kind_of_sequence_do_not_matter():
    assert run_id({"a": 1, "b": (1, 2)}) == run_id({"b": [1.0, 2], "a": 1})
    assert run_id({"a": [1, 2]}) != run_id({"a": [2, 1]})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, {1, 2}, np.int64(3)])
def test_what_has_no_canonical_form_is_refused_by_its_name(value):
    with pytest.raises(ConfigError, match=r"optimizer\.lr"):
        canonical_json({"optimizer": {"lr": value}})


def test_sweeps_and_packs_are_sets_of_runs():
    assert sweep_id(["b", "a"]) == sweep_id(iter(["a", "b", "a"]))
    assert pack_id(["b", "a"], 0) == pack_id(["a", "b"], 0)
    assert len({sweep_id(["a"]), sweep_id(["a", "b"]), pack_id(["a"], 0), pack_id(["a"], 1)}) == 4
