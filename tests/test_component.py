import math

import pytest

from plasticity_lab.component import (
    Component,
    build,
    check,
    check_limits,
    load,
    parameters,
    real_settings,
    setting,
    typed,
    with_settings,
)
from plasticity_lab.errors import ConfigError


class Spring(Component):
    neutral = {"damped": False}

    def __init__(
        self,
        stiffness: float,
        coils: int = 3,
        damped: bool = False,
        kind: str = "steel",
        limit: int | None = None,
        bends: list[int] | None = None,
        ratio: float | str = "mean",
    ) -> None:
        self.stiffness, self.coils = check("spring.stiffness", stiffness, above=0), coils
        self.damped, self.kind, self.limit, self.bends, self.ratio = damped, kind, limit, bends, ratio


class Wound(Spring):
    @classmethod
    def run_axis_settings(cls):
        return ["stiffness"]


class Bare(Component):
    pass


@with_settings
class Sprung(Component):
    neutral = {"older": 1}

    width: float = setting(2.0, above=0)
    mounted: bool = False
    load: int = setting(4, at_least=1, at_most=9, capped=True)
    oil: str = setting("thin", one_of=("thin", "thick"), neutral=True, read_if=("mounted", bool))

    def __post_init__(self) -> None:
        check_limits(self, "sprung")


def test_a_setting_that_is_said_once_has_its_place_its_limits_and_its_use():
    assert {name: each.default for name, each in parameters(Sprung).items()} == {
        "width": 2.0, "mounted": False, "load": 4, "oil": "thin"}  # fmt: skip
    assert list(parameters(Sprung)) == ["width", "mounted", "load", "oil"]
    assert real_settings(Sprung) == ["width"]
    assert Sprung.neutral == {"older": 1, "oil": "thin"}
    assert Sprung.capped == {"load"}
    assert Sprung.read_if == {"oil": ("mounted", bool)}
    assert typed(Sprung, "spring", "sprung", {"width": 1}) == {"width": 1.0, "mounted": False, "load": 4, "oil": "thin"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"width": 0.0, "load": 10}, "sprung.width is 0.0; it must be above 0."),
        ({"load": 10}, "sprung.load is 10; it must be at least 1 and at most 9."),
        ({"oil": "none"}, "sprung.oil is 'none'; it must be one of thin, thick."),
    ],
)
def test_a_setting_out_of_its_limits_is_named(settings, sentence):
    with pytest.raises(ConfigError) as raised:
        Sprung(**settings)
    assert str(raised.value) == sentence


def test_settings_take_their_annotated_type_and_defaults_are_filled_in():
    settings = typed(Spring, "spring", "coil", {"stiffness": 2, "coils": 4.0, "limit": 7, "bends": [1, 2]})
    assert settings == {"stiffness": 2.0, "coils": 4, "damped": False, "kind": "steel", "limit": 7, "bends": [1, 2],
                        "ratio": "mean"}  # fmt: skip
    assert [type(settings[name]) for name in ("stiffness", "coils", "limit")] == [float, int, int]
    assert typed(Spring, "spring", "coil", {"stiffness": 1, "ratio": 0.5})["ratio"] == 0.5
    assert typed(Spring, "spring", "coil", {"stiffness": 1, "limit": None})["limit"] is None


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "spring.stiffness is not set, and spring=coil has no default for it"),
        ({"stiffness": 1, "coil": 2}, "spring=coil has no setting 'coil'; its settings are stiffness, coils"),
        ({"stiffness": "soft"}, "spring.stiffness is 'soft'; it must be a finite number"),
        ({"stiffness": True}, "spring.stiffness is true; it must be a finite number"),
        ({"stiffness": math.inf}, "spring.stiffness is inf; it must be a finite number"),
        ({"stiffness": math.nan}, "spring.stiffness is nan; it must be a finite number"),
        ({"stiffness": 10**400}, "spring.stiffness is 1000"),
        ({"stiffness": None}, "spring.stiffness is null; it must be a finite number"),
        ({"stiffness": 1, "coils": 2.5}, "spring.coils is 2.5; it must be a whole number"),
        ({"stiffness": 1, "coils": 2**63}, "spring.coils is 9223372036854775808; it must be below 2^63"),
        ({"stiffness": 1, "coils": 1e30}, "spring.coils is 1000000000000000019884624838656; it must be below 2^63"),
        ({"stiffness": 1, "damped": 1}, "spring.damped is 1; it must be true or false"),
        ({"stiffness": 1, "kind": 1}, "spring.kind is 1; it must be a word"),
        ({"stiffness": 1, "limit": "none"}, "spring.limit is 'none'; it must be a whole number or null"),
    ],
)
def test_a_wrong_setting_is_named_in_a_sentence(settings, sentence):
    with pytest.raises(ConfigError) as raised:
        typed(Spring, "spring", "coil", settings)
    assert sentence in str(raised.value)


def test_a_component_without_settings_says_so():
    assert parameters(Bare) == {}
    assert Bare().on_run_axis() == {}
    with pytest.raises(ConfigError, match="spring=bare has no setting 'coils'; it has no settings"):
        typed(Bare, "spring", "bare", {"coils": 3})


def test_the_runs_of_a_pack_differ_in_nothing_but_what_the_class_itself_names():
    assert Spring.run_axis_settings() == []
    assert Spring(2.0).on_run_axis() == {}
    assert Wound(2.0, coils=9, ratio=0.5).on_run_axis() == {"stiffness": 2.0}
    assert [real_settings(cls) for cls in (Spring, Bare)] == [["stiffness"], []], "float and nothing else"


def test_neutral_settings_stay_out_of_the_canonical_form():
    settings = typed(Spring, "spring", "coil", {"stiffness": 1})
    assert "damped" not in Spring.canonical(settings)
    assert Spring.canonical(settings | {"damped": True})["damped"] is True


def test_build_makes_the_class_that_target_names():
    built = build("optimizer", "adam", "plasticity_lab.stacking.adam.Adam", {"lr": 1})
    assert (type(built).__name__, built.lr) == ("Adam", 1.0)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("plasticity_lab.stacking.adam.Madam", "names no class that can be imported"),
        ("plasticity_lab.nowhere.Adam", "names no class that can be imported"),
        ("Adam", "names no class that can be imported"),
        ("plasticity_lab.component.check", "is not a class derived from plasticity_lab.component.Component"),
        ("pathlib.Path", "is not a class derived from plasticity_lab.component.Component"),
    ],
)
def test_a_target_that_is_no_component_is_refused(target, sentence):
    with pytest.raises(ConfigError, match=sentence):
        load(target)


def test_ranges_are_checked_and_named():
    assert check("x", 0.5, at_least=0, at_most=1, above=0, below=1) == 0.5
    assert check("x", None, at_least=1) is None
    for value, rules, sentence in [
        (-1, {"at_least": 0, "at_most": 1}, "x is -1; it must be at least 0 and at most 1"),
        (0, {"above": 0}, "x is 0; it must be above 0"),
        (1, {"at_least": 0, "below": 1}, "x is 1; it must be at least 0 and below 1"),
        (math.nan, {"at_least": 0}, "x is nan"),
        ("b", {"one_of": ("a", "c")}, "x is 'b'; it must be one of a, c"),
    ]:
        with pytest.raises(ConfigError) as raised:
            check("x", value, **rules)
        assert sentence in str(raised.value)
