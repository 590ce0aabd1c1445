"""References: every option has some or says why not, every entry is whole, and a store's runs get theirs."""

import re

import pytest

from analysis.__main__ import main
from analysis.cite.references import cited, entries, of_options
from analysis.conf import groups
from plasticity_lab.records.store import Store
from tests.helpers.packs import choices
from tests.helpers.sweeps import planned


@pytest.mark.parametrize("group", groups())
def test_every_option_has_a_reference_or_a_reason(group):
    missing = [name for name in choices(group) if name not in of_options()[group] and name != "auto"]
    assert not missing, f"give {missing} a list of keys, or a sentence, in analysis/cite/options.json"
    for name, found in of_options()[group].items():
        assert found, f"{group}={name}"
        unknown = [] if isinstance(found, str) else [key for key in found if key not in entries()]
        assert not unknown, f"{group}={name} names {unknown}, and analysis/cite/references.bib has no such entry"


def test_every_entry_is_whole_sorted_and_used():
    used = {
        key
        for options in of_options().values()
        for found in options.values()
        if isinstance(found, list)
        for key in found
    }
    assert list(entries()) == sorted(used)
    for key, entry in entries().items():
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", entry, re.MULTILINE))
        assert fields.keys() >= {"author", "title", "year"}, key
        assert fields["year"] in key
        assert re.fullmatch(r"(19|20)\d\d", fields["year"])
        assert entry.count("{") == entry.count("}")
        assert re.fullmatch(r"\d{4}\.\d{4,5}", fields.get("eprint", "0000.00000"))


def test_several_options_of_a_group_are_cited_one_by_one_and_once():
    options = [("intervention", "redo+l2"), ("activation", "crelu"), ("intervention", "redo"), ("activation", "my_own")]
    by_key, without = cited(options)
    assert by_key == {
        "abbas2023loss": ["activation=crelu"],
        "shang2016understanding": ["activation=crelu"],
        "sokar2023dormant": ["intervention=redo"],
    }
    assert without == [
        "activation=my_own: is not among the options of this version",
        "intervention=l2: it is weight decay in the loss",
    ]


def test_the_command_prints_the_entries_of_a_store(tmp_path, capsys):
    planned(Store(tmp_path), "activation=relu", "intervention=hare_tortoise", "optimizer=adamw")
    assert main(["cite", "--store", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    keys = re.findall(r"^@\w+\{(\w+),", printed.out, re.MULTILINE)
    assert keys == [
        "lee2024slow", "lillo2026activation", "loshchilov2019decoupled", "nair2010rectified", "pedregosa2011scikit"
    ]  # fmt: skip
    assert "% intervention=hare_tortoise\n@inproceedings{lee2024slow," in printed.out
    assert "No reference for agent=supervised" in printed.err
    assert main(["cite", "--store", str(tmp_path), "--out", str(tmp_path / "my.bib")]) == 0
    assert (tmp_path / "my.bib").read_text() == printed.out
