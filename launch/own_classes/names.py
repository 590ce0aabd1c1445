"""The names of a class, read without calling it: verbs that nobody would call, and verbs that cannot be called.

A public name is in order if the contract has it, if it is a setting, or if the class's own file reads it anywhere:
then it is a helper. One that nothing reads is refused where it resembles a name of the contract, or takes what a verb
takes.
"""

import ast
import difflib
import functools
import inspect
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from launch.own_classes.named import Fault, is_own, own_bases, place_of
from plasticity_lab.component import Component, parameters

ALIKE = 0.82
"""From this ratio on (`difflib`), two names without their underscores resemble each other: after_stepp and after_step
have 0.95, penal and penalty 0.83, state and start 0.80."""
RENAMED = {"needs": "requires", "now_and_then": "every_n_updates", "tells": "provides"}
"""Names that contracts had in earlier versions → those that they have now. A class that has the old one alone is
refused: what it says there would not be read."""


def misnamed(cls: type, contract: Mapping[str, Any], built: object | None = None) -> list[Fault]:
    """The names of a class that nobody calls, though they look as if somebody should.

    contract: what the class's group promises to call or read, by name. built: an object of the class.
    """
    read, set_there = _names_in(cls)
    kept = {name: value for name, value in vars(built).items() if name in set_there} if built is not None else {}
    own = {**kept, **_own_names(cls)}
    settings = parameters(cls) if issubclass(cls, Component) else {}
    faults = []
    for name, value in own.items():
        renamed = RENAMED.get(name)
        if renamed in contract and renamed not in own and name not in settings:
            faults.append(Fault(f"'{name}' is called '{renamed}' now; rename it", place_of(cls, name)))
            continue
        if name.startswith("_") or name in contract or name in settings or name in read:
            continue
        meant = resembled(name, [verb for verb in contract if verb not in own])
        if meant is not None:
            what = f"'{name}' is no name that anybody calls or reads; there is '{meant}'"
        elif (verb := _same_arguments(value, contract)) is not None:
            what = f"'{name}' takes what '{verb}' takes, and nobody calls it; the verbs are {_verbs(contract)}"
        else:
            continue
        faults.append(Fault(f"{what}. Rename it; a helper's name begins with an underscore", place_of(cls, name)))
    return faults


def uncallable(cls: type, contract: Mapping[str, Any]) -> list[Fault]:
    """The names of the contract that the class has otherwise than it promises: other arguments, a method as a value."""
    faults = []
    for name, value in _own_names(cls).items():
        if name not in contract or name == "__init__":
            continue
        promised, what = contract[name], None
        if _signature(promised) is None:
            if inspect.isfunction(value):
                what = f"'{name}' is a method, and it is read as a value; write @property above it"
        elif isinstance(value, property) or not (callable(value) or isinstance(value, classmethod | staticmethod)):
            what = f"'{name}' is a value, and it is called as a method"
        elif isinstance(promised, classmethod) != isinstance(value, classmethod):
            what = f"'{name}' must {'' if isinstance(promised, classmethod) else 'not '}be a class method"
        elif not _takes(value, promised):
            what = f"'{name}' takes {_listed(value)}, and it is called with {_listed(promised)}"
        if what is not None:
            faults.append(Fault(what, place_of(cls, name)))
    return faults


def idle(cls: type, contract: Mapping[str, Any]) -> list[Fault]:
    """A class that has methods and writes none of the contract: nobody would ever call it."""
    own = _own_names(cls)
    read, _ = _names_in(cls)
    unread = [name for name in own if _signature(own[name]) is not None and name not in read]
    if not unread or any(name in contract for name in own):
        return []
    what = (
        f"'{unread[0]}' is no verb, and the class writes none: nobody would call it; the verbs are {_verbs(contract)}"
    )
    return [Fault(what, place_of(cls, unread[0]))]


def contract_of(cls: type) -> dict[str, Any]:
    """What the package's own bases of a class have, name → the nearest such thing; None of what is only annotated."""
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        if base is object or is_own(base):
            continue
        for name, value in vars(base).items():
            if not name.startswith("_") or name == "__call__":
                found.setdefault(name, value)
        for name in inspect.get_annotations(base):
            found.setdefault(name, None)
    return found


def resembled(name: str, names: Collection[str]) -> str | None:
    """The one of the names that this one was probably meant as; None where it resembles none."""
    plain = {_plain(each): each for each in names}
    turned = [each for each in names if sorted(each.split("_")) == sorted(name.lower().split("_"))]
    found = difflib.get_close_matches(_plain(name), plain, 1, ALIKE)
    return next(iter(turned), None) or next((plain[each] for each in found), None)


def _verbs(contract: Mapping[str, Any]) -> str:
    verbs = (verb for verb, promised in contract.items() if _signature(promised) is not None)
    return ", ".join(verb for verb in verbs if not hasattr(Component, verb))


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _own_names(cls: type) -> dict[str, Any]:
    """What a class and its bases outside the package define, name → the nearest."""
    found: dict[str, Any] = {}
    for base in own_bases(cls):
        for name, value in vars(base).items():
            if not name.startswith("_") or name == "__call__":
                found.setdefault(name, value)
    return found


@functools.cache
def _names_in(cls: type) -> tuple[frozenset[str], frozenset[str]]:
    """The names that the files of a class read anywhere, and the attributes that they set."""
    names: tuple[set[str], set[str]] = set(), set()
    for base in own_bases(cls):
        _collect(_parsed(base), *names, within=frozenset())
    return frozenset(names[0]), frozenset(names[1])


def _collect(node: ast.AST, read: set[str], set_there: set[str], within: frozenset[str]) -> None:
    """Adds the names below a node.  within: the functions around it, whose own names do not count as read: a misspelt
    verb that calls super() is called by nobody else.
    """
    if isinstance(node, ast.FunctionDef):
        within = within | {node.name}
    found: str | None = None
    context: ast.expr_context | None = None
    if isinstance(node, ast.Attribute):
        found, context = node.attr, node.ctx
    elif isinstance(node, ast.Name):
        found, context = node.id, node.ctx
    elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("getattr", "hasattr"):
        read |= {each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    if found is not None and isinstance(context, ast.Load) and found not in within:
        read.add(found)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        set_there.add(node.attr)
    for child in ast.iter_child_nodes(node):
        _collect(child, read, set_there, within)


def _parsed(cls: type) -> ast.Module:
    try:
        return ast.parse(Path(inspect.getsourcefile(cls) or "").read_text(encoding="utf-8"))
    except (OSError, TypeError, SyntaxError):
        return ast.Module([], [])


def _signature(member: Any) -> list[inspect.Parameter] | None:
    """What a method takes apart from the object, or the class, that it belongs to; None for what is no method."""
    function = getattr(member, "__func__", member)
    if not inspect.isfunction(function):
        return None
    taken = list(inspect.signature(function).parameters.values())
    return taken if isinstance(member, staticmethod) else taken[1:]


def _same_arguments(member: Any, contract: Mapping[str, Any]) -> str | None:
    """The verb whose arguments a method has; None where there is none, and for what is no method."""
    taken = [each.name for each in _signature(member) or ()]
    verbs = (verb for verb, promised in contract.items() if [each.name for each in _signature(promised) or ()] == taken)
    return next(verbs, None) if taken else None


def _takes(member: Any, promised: Any) -> bool:
    """Whether a method can be called as the promised one is."""
    taken = _signature(member)
    if taken is None:
        return True  # any other thing that can be called; the training proof calls it
    given = [each for each in _signature(promised) or () if each.kind is each.POSITIONAL_OR_KEYWORD]
    try:
        inspect.Signature(taken).bind(*given)
    except TypeError:
        return False
    return True


def _listed(member: Any) -> str:
    return f"({', '.join(map(str, (each.name for each in _signature(member) or ())))})"
