"""The names of a class, read without calling it: methods that are never called, and methods that cannot be called.

A public name is right if the contract has it, if it is a setting, or if the class's own file reads it anywhere: then it
is a helper. A name that is never read is refused if it resembles a name of the contract, or if it takes the arguments
of a method of the contract.
"""

import ast
import difflib
import functools
import inspect
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from launch.own_classes.named import Fault, own_bases, place_of
from plasticity_lab.component import Component, parameters

ALIKE = 0.82
"""Two names resemble each other from this ratio on (`difflib`), compared without their underscores.

after_stepp and after_step have 0.95, penal and penalty 0.83, state and start 0.80.
"""
RENAMED = {"needs": "requires", "now_and_then": "every_n_updates", "tells": "provides"}
"""Names that contracts had in earlier versions → their names now. A class that has the old one alone is refused,
because the old name is never read."""


def misnamed(cls: type, contract: Mapping[str, Any], built: object | None = None) -> list[Fault]:
    """The names of a class that are never called, although they resemble names that are.

    contract: name → member that the class's group calls or reads. built: an object of the class.
    """
    read, attributes = _names_in(cls)
    members = {name: value for name, value in vars(built).items() if name in attributes} if built is not None else {}
    members |= _own_names(cls)
    settings = parameters(cls) if issubclass(cls, Component) else {}
    faults = []
    for name, value in members.items():
        renamed = RENAMED.get(name)
        if renamed in contract and renamed not in members and name not in settings:
            faults.append(Fault(f"'{name}' is called '{renamed}' now; rename it", place_of(cls, name)))
            continue
        if name.startswith("_") or name in contract or name in settings or name in read:
            continue
        if (meant := resembled(name, [verb for verb in contract if verb not in members])) is not None:
            what = f"'{name}' is no name that anybody calls or reads; there is '{meant}'"
        elif (verb := _same_arguments(value, contract)) is not None:
            what = f"'{name}' takes the arguments of '{verb}', and nothing calls it; the methods are {_verbs(contract)}"
        else:
            continue
        faults.append(Fault(f"{what}. Rename it; a helper's name begins with an underscore", place_of(cls, name)))
    return faults


def uncallable(cls: type, contract: Mapping[str, Any]) -> list[Fault]:
    """The names of the contract that the class has in another form: with other arguments, or a method as a value."""
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
    """A class that has methods and none of the contract: it would never be called."""
    members = _own_names(cls)
    read, _ = _names_in(cls)
    unread = [name for name, member in members.items() if _signature(member) is not None and name not in read]
    if not unread or any(name in contract for name in members):
        return []
    verbs = _verbs(contract)
    what = f"'{unread[0]}' is no method of the contract, so nothing would call it; the methods are {verbs}"
    return [Fault(what, place_of(cls, unread[0]))]


def contract_of(cls: type) -> dict[str, Any]:
    """The members of the bases that are not checked with a class, name → the nearest; None if only annotated."""
    checked = [*own_bases(cls)]
    bases = [base for base in cls.__mro__ if base is not object and base not in checked]
    annotated = {name: None for base in bases for name in inspect.get_annotations(base)}
    return annotated | _public_members(bases)


def resembled(name: str, names: Collection[str]) -> str | None:
    """The most similar of the names; None if this name resembles none."""
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
    """The members of a class and its bases outside the package, name → the nearest."""
    return _public_members(own_bases(cls))


def _public_members(bases: Iterable[type]) -> dict[str, Any]:
    """Name → the member of the first of the classes that has it."""
    members: dict[str, Any] = {}
    for base in bases:
        for name, value in vars(base).items():
            if not name.startswith("_") or name == "__call__":
                members.setdefault(name, value)
    return members


@functools.cache
def _names_in(cls: type) -> tuple[frozenset[str], frozenset[str]]:
    """The names that the files of a class read anywhere, and the attributes that they set."""
    read, attributes = set[str](), set[str]()
    for base in own_bases(cls):
        _collect(_parsed(base), read, attributes, within=frozenset())
    return frozenset(read), frozenset(attributes)


def _collect(node: ast.AST, read: set[str], attributes: set[str], within: frozenset[str]) -> None:
    """Adds the names below a node.

    within: the functions around it. Their names do not count as read, because a misspelt method may call super().
    """
    if isinstance(node, ast.FunctionDef):
        within = within | {node.name}
    elif isinstance(node, ast.Attribute | ast.Name):
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        if isinstance(node.ctx, ast.Load):
            read |= {name} - within
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            attributes.add(name)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("getattr", "hasattr"):
        read |= {each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    for child in ast.iter_child_nodes(node):
        _collect(child, read, attributes, within)


def _parsed(cls: type) -> ast.Module:
    try:
        return ast.parse(Path(inspect.getsourcefile(cls) or "").read_text(encoding="utf-8"))
    except (OSError, TypeError, SyntaxError):
        return ast.Module([], [])


def _signature(member: Any) -> list[inspect.Parameter] | None:
    """The parameters of a method, without self or the class; None if it is no method."""
    function = getattr(member, "__func__", member)
    if not inspect.isfunction(function):
        return None
    taken = list(inspect.signature(function).parameters.values())
    return taken if isinstance(member, staticmethod) else taken[1:]


def _same_arguments(member: Any, contract: Mapping[str, Any]) -> str | None:
    """The contract's method with the same arguments as this one; None without a match, or if this is no method."""
    arguments = _arguments(member)
    return next((verb for verb in contract if arguments and _arguments(contract[verb]) == arguments), None)


def _arguments(member: Any) -> list[str]:
    """The names of a method's parameters."""
    return [parameter.name for parameter in _signature(member) or ()]


def _takes(member: Any, promised: Any) -> bool:
    """Whether a method accepts the arguments of the promised one."""
    parameters_of_method = _signature(member)
    if parameters_of_method is None:
        return True  # another callable; the training proof calls it
    arguments = [each for each in _signature(promised) or () if each.kind is each.POSITIONAL_OR_KEYWORD]
    try:
        inspect.Signature(parameters_of_method).bind(*arguments)
    except TypeError:
        return False
    return True


def _listed(member: Any) -> str:
    return f"({', '.join(_arguments(member))})"
