"""What a claim covers: the definitions that its function can reach, and their fingerprint, by syntax alone.

`House` reads the sources of a package. From a function or class it follows every name and import to definitions of the
package: functions, classes with all their methods and bases, constants of modules. Strings that name a module of the
package, as registries hold them, are followed as well. An object's methods are reached where its class is named, in an
annotation or where it is made, so a call of a method needs no further resolution. Where this rule cannot be sure, it
reaches too much rather than too little.

A definition has a *shape*: its syntax without docstrings, comments, layout, annotations and error texts, with each name
of ours replaced by the place of its first appearance. A fingerprint joins shapes along the names (three rounds of
refinement of colors on that graph), so names themselves do not enter: it stays as it is when something is renamed or
moved, and changes with any operator, constant, default, argument or definition that is used. What it does not see: an
exchange of two definitions that have one shape, and whose names lead to the same shapes for three steps.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from tests.contracts.shapes import FUNCTIONS, Shape, Writer, digest, dotted_name, is_text, parameters, stored

ROUNDS = 3
BODY = "<body>"
"""Name of what a module does when it is imported, beside defining."""


@dataclass
class Module:
    """Top-level names of a module: what defines them, or what they are imported from."""

    name: str
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)

    @classmethod
    @cache
    def parse(cls, name: str, text: str, is_package: bool) -> "Module":
        """Read a source file: two houses of which one has an edit differ in one module."""
        tree, module = ast.parse(text), cls(name)
        home = name if is_package else name.rpartition(".")[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    module.imports[alias.asname or whole] = whole
            elif isinstance(node, ast.ImportFrom):
                parents = home.split(".")[: len(home.split(".")) - node.level + 1] if node.level else []
                source = ".".join([*parents, *([node.module] if node.module else [])])
                for alias in node.names:
                    module.imports[alias.asname or alias.name] = f"{source}.{alias.name}"
        for statement in tree.body:
            module._define(statement)
        return module

    def _define(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or is_text(statement):
            return
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            names = [statement.name]
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            names = [name for name in stored(statement) if name != "__all__"]
        else:  # a condition, a loop, a call: all its names stand for all of it
            names = [BODY]
            for name in stored(statement):
                self.definitions.setdefault(name, []).append(statement)
        for name in names:
            self.definitions.setdefault(name, []).append(statement)


@dataclass(frozen=True)
class Reach:
    """What a claim covers."""

    definitions: tuple[str, ...]
    claims: tuple[str, ...]
    """Other claims at whose definitions it stops, by their names."""
    codes: tuple[str, str]
    """Two fingerprints, which differ in how they know attributes of classes beyond the reach: by name, and by place.
    The first stays when such a class gets a member more, the second when one gets another name."""
    shapes: dict[str, str]
    """Of each definition: the digest of its shape, and a digest of the names that it uses."""


PARAMETERS = "discreet.parameters.shared.Parameters"


class House:
    """The sources of one package.

    Parameters
    ----------
    root : Path
        Its folder.
    leave_out : iterable of str
        Modules at which every traversal ends: no proof speaks of them.
    above : iterable of str
        Folders that are not read: nothing below imports them.
    """

    def __init__(self, root: Path, leave_out: Iterable[str] = (), above: Iterable[str] = ()) -> None:
        self.package, self.leave_out, unread = root.name, frozenset(leave_out), set(above)
        self.modules: dict[str, Module] = {}
        for path in sorted(root.rglob("*.py")):
            parts = [root.name, *path.relative_to(root).with_suffix("").parts]
            if parts[1] in unread:
                continue
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            self.modules[name] = Module.parse(name, path.read_text(), is_package)
        self._shapes: dict[str, Shape] = {}
        self._resolved: dict[str, tuple[str, tuple[str, ...]] | None] = {}

    # ---- names

    def resolve(self, dotted: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the definition or module of ours that a dotted name leads to, and the attributes that are left."""
        if dotted not in self._resolved:
            self._resolved[dotted] = None  # ends a circle of imports
            self._resolved[dotted] = self._resolve(dotted)
        return self._resolved[dotted]

    def _resolve(self, dotted: str) -> tuple[str, tuple[str, ...]] | None:
        parts = dotted.split(".")
        for size in range(len(parts), 0, -1):
            module = self.modules.get(".".join(parts[:size]))
            if module is None:
                continue
            if size == len(parts):
                return module.name, ()
            name, rest = parts[size], parts[size + 1 :]
            if name in module.definitions:
                return f"{module.name}.{name}", tuple(rest)
            if name in module.imports:
                return self.resolve(".".join([module.imports[name], *rest]))
            return None
        return None

    def statements(self, name: str) -> list[ast.stmt]:
        """Return what defines a name of a module, or a method of a class."""
        home, _, last = name.rpartition(".")
        if home in self.modules:
            return self.modules[home].definitions.get(last, [])
        return [node for node in self.class_of(home).body if isinstance(node, FUNCTIONS) and node.name == last]

    def home(self, name: str) -> str:
        """Return the module in which a definition stands."""
        while name not in self.modules:
            name = name.rpartition(".")[0]
        return name

    def class_of(self, name: str) -> ast.ClassDef:
        """Return a class by its dotted name."""
        return next(node for node in self.statements(name) if isinstance(node, ast.ClassDef))

    def is_class(self, name: str) -> bool:
        """Tell whether a definition is a class."""
        home, _, last = name.rpartition(".")
        nodes = self.modules[home].definitions.get(last, []) if home in self.modules else []
        return any(isinstance(node, ast.ClassDef) for node in nodes)

    def methods(self, name: str) -> list[str]:
        """Return the methods of a class, each name once."""
        names = (node.name for node in self.class_of(name).body if isinstance(node, FUNCTIONS))
        return [f"{name}.{method}" for method in dict.fromkeys(names)]

    def bases(self, name: str) -> list[str]:
        """Return a class's bases: definitions of ours, and dotted names of others."""
        module, bases = self.modules[self.home(name)], []
        for base in self.class_of(name).bases:
            node = base.value if isinstance(base, ast.Subscript) else base
            dotted = dotted_name(node)
            if dotted is not None:
                bases.append(self.meaning(module, dotted))
        return bases

    def meaning(self, module: Module, dotted: str) -> str:
        """What a dotted name means in a module: a definition of ours, else what it was imported as."""
        first, _, rest = dotted.partition(".")
        if first in module.definitions:
            return f"{module.name}.{dotted}"
        whole = ".".join([module.imports.get(first, first), *([rest] if rest else [])])
        resolved = self.resolve(whole)
        return ".".join([resolved[0], *resolved[1]]) if resolved else whole

    @cache  # noqa: B019 - a house lives as long as the process
    def is_model(self, name: str) -> bool:
        """Tell whether a class's annotations are code, as those of pydantic's models and of methods' parameters are."""
        return name == PARAMETERS or any(
            base in ("pydantic.BaseModel", PARAMETERS)
            or (self.is_ours(base) and self.is_class(base) and self.is_model(base))
            for base in self.bases(name)
        )

    def is_ours(self, name: str) -> bool:
        """Tell whether a dotted name lies in the package."""
        return name == self.package or name.startswith(f"{self.package}.")

    @cached_property
    def subclasses(self) -> dict[str, list[str]]:
        """Every class of ours to the classes that name it as a base."""
        below: dict[str, list[str]] = {}
        for module in self.modules.values():
            for name in module.definitions:
                if self.is_class(f"{module.name}.{name}"):
                    for base in self.bases(f"{module.name}.{name}"):
                        below.setdefault(base, []).append(f"{module.name}.{name}")
        return below

    @cache  # noqa: B019
    def members(self, name: str) -> tuple[str, ...]:
        """Return the attributes that a class defines, in order: methods and fields, then what is set on `self`."""
        names: list[str] = []
        for statement in self.class_of(name).body:
            names += [statement.name] if isinstance(statement, FUNCTIONS) else stored(statement)
        for node in ast.walk(self.class_of(name)):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.append(node.attr)
        return tuple(dict.fromkeys(names))

    def with_bases(self, name: str) -> list[str]:
        """Return a class and all of its bases that are ours."""
        above = (base for base in self.bases(name) if self.is_ours(base) and self.is_class(base))
        return [name, *(every for base in above for every in self.with_bases(base))]

    @cache  # noqa: B019
    def taken(self, name: str) -> tuple[tuple[int, str], ...]:
        """Return the places of a function's parameters, each as METHOD NAME."""
        nodes = [node for node in self.statements(name) if isinstance(node, FUNCTIONS)]
        return tuple(
            (place, f"{node.name} {parameter}") for node in nodes for place, parameter in enumerate(parameters(node))
        )

    def fields(self, name: str) -> list[str]:
        """Return what a class takes when it is made: parameters of `__init__`, or fields, of its bases first."""
        own = self.class_of(name)
        inits = [node for node in own.body if isinstance(node, FUNCTIONS) and node.name == "__init__"]
        if inits:
            return parameters(inits[0])[1:]
        inherited = [f for base in self.bases(name) if self.is_ours(base) for f in self.fields(base)]
        declared = [n.target.id for n in own.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
        return list(dict.fromkeys([*inherited, *declared]))

    # ---- shapes

    def shape(self, name: str) -> Shape:
        """Return the shape of a definition."""
        if name not in self._shapes:
            self._shapes[name] = Writer(self, name).shape()
        return self._shapes[name]

    # ---- reach

    def reach(self, roots: Iterable[str], claimed: dict[str, str] | None = None) -> Reach:
        """Follow names from the roots, up to definitions with a claim of their own.

        Parameters
        ----------
        roots : iterable of str
            Dotted names of functions or classes; a method stands for its class.
        claimed : dict of str
            Definitions with a claim of their own, to what that claim is called.
        """
        roots = list(roots)
        starts = [self._start(root) for root in roots]
        stops = {self._start(name): claim for name, claim in (claimed or {}).items()}
        for start in starts:
            stops.pop(start, None)
        reached: set[str] = set()
        entry_points = [*starts, *self._given(roots, stops)]
        waiting = [*entry_points]
        while waiting:
            name = waiting.pop()
            if name in reached or name in stops or self.home(name) in self.leave_out:
                continue
            reached.add(name)
            waiting += self._next(name)
        met = {stops[name] for name in entry_points if name in stops}
        return self._fingerprint(starts, reached, stops, met)

    def _start(self, root: str) -> str:
        resolved = self.resolve(root)
        assert resolved is not None, f"no definition {root}"
        return resolved[0]

    def _given(self, roots: list[str], stops: dict[str, str]) -> Iterator[str]:
        """Subclasses of a claimed class, and of what callers hand in: their objects are made elsewhere."""
        waiting = [root for root in roots if self.resolve(root) == (root, ()) and self.is_class(root)]
        takers = {name for root in roots for name in (root, f"{root.rpartition('.')[0]}.__init__")}
        for taker in sorted(takers):
            waiting += sorted(Writer(self, taker).taken())
        reached: set[str] = set()
        while waiting:
            name = waiting.pop()
            for below in self.subclasses.get(name, []) if name not in stops else []:
                if below not in reached:
                    reached.add(below)
                    waiting.append(below)
                    yield below

    def _next(self, name: str) -> Iterator[str]:
        if name in self.modules:
            yield from (f"{name}.{definition}" for definition in self.modules[name].definitions)
            return
        shape = self.shape(name)
        yield from (link for kind, link in shape.links if kind in ("definition", "module"))
        yield from shape.annotations
        if self.is_class(name):
            yield from self.methods(name)
        module, _, last = name.rpartition(".")
        if module in self.modules and last != BODY and BODY in self.modules[module].definitions:
            yield f"{module}.{BODY}"

    def _fingerprint(self, starts: list[str], reached: set[str], stops: dict[str, str], met: set[str]) -> Reach:
        names, modules = sorted(reached - self.modules.keys()), reached & self.modules.keys()
        met |= {stops[link] for name in reached for link in self._next(name) if link in stops}
        beyond = {link: stops.get(link, "") for name in names for link in self._next(name) if link not in reached}
        codes = []
        for by_name in (True, False):
            graph = _Graph(self, names, modules, beyond, by_name)
            for _ in range(ROUNDS):
                graph.refine()
            codes.append(digest(*(graph.color[start] for start in starts), "all", *sorted(graph.color.values())))
        return Reach(tuple(names), tuple(sorted(met)), (codes[0], codes[1]), {name: self._line(name) for name in names})

    def _line(self, name: str) -> str:
        """Two digests: of a definition's shape, and of the names that it uses."""
        shape = self.shape(name)
        return f"{shape.code[:8]} {digest(*(link.rpartition('.')[2] for _, link in shape.links))[:8]}"


class _Graph:
    """Definitions and what they refer to. A color is a digest that grows by what a round sees around a definition.

    `beyond` are the definitions at which the reach ends, with the names of their claims. Their attributes have no
    color: they are known by name, or by their place in their class.
    """

    def __init__(
        self, house: House, names: list[str], modules: set[str], beyond: dict[str, str], by_name: bool
    ) -> None:
        self.house, self.names, self.modules, self.beyond, self.by_name = house, names, modules, beyond, by_name
        self.color = {name: house.shape(name).code for name in names}
        self.members: dict[str, list[str]] = {}
        """Every attribute that something reached has, to the definitions that it may be."""
        self.places: dict[str, set[int]] = {}
        """Of every METHOD NAME, the places at which functions of that name take that parameter."""
        self.outer: dict[str, set[str]] = {}
        """Every attribute of a class beyond, to its places."""
        for name in names:
            for member in house.members(name) if house.is_class(name) else ():
                self.members.setdefault(member, []).append(f"{name}.{member}")
            if house.home(name) in modules:
                self.members.setdefault(name.rpartition(".")[2], []).append(name)
            self._take(name)
        for end, claim in beyond.items():
            for name in house.with_bases(end) if end not in house.modules and house.is_class(end) else ():
                for place, member in enumerate(house.members(name)):
                    self.outer.setdefault(member, set()).add(f"{claim} {place}")
                for method in house.methods(name):
                    self._take(method)

    def _take(self, name: str) -> None:
        for place, parameter in self.house.taken(name):
            self.places.setdefault(parameter, set()).add(place)

    def refine(self) -> None:
        """Give every definition a color that tells what it refers to, in order, as of the last round."""
        mentions: dict[str, list[str]] = {}
        for name in self.names:
            for place, (kind, link) in enumerate(self.house.shape(name).links):
                if kind == "attribute" and link in self.members:
                    mentions.setdefault(link, []).append(f"{self.color[name]} {place}")
        attributes = {
            link: digest(*sorted(uses), "are", *sorted(self.color.get(name, "") for name in self.members[link]))
            for link, uses in mentions.items()
        }
        self.color = {name: self._refined(name, attributes) for name in self.names}

    def _refined(self, name: str, attributes: dict[str, str]) -> str:
        links = [self._of(kind, link, attributes) for kind, link in self.house.shape(name).links]
        methods = self.house.methods(name) if self.house.is_class(name) else ()
        return digest(self.color[name], *links, "methods", *sorted(self.color[method] for method in methods))

    def _of(self, kind: str, link: str, attributes: dict[str, str]) -> str:
        if kind == "attribute":
            name = f".{link}" if self.by_name or link not in self.outer else f". {sorted(self.outer[link])}"
            return f"{attributes[link]} {name if link in self.outer else ''}" if link in attributes else name
        if kind == "keyword":
            return str(sorted(self.places[link])) if link in self.places else link.partition(" ")[2]
        if link in self.color:
            return self.color[link]
        if link in self.modules:
            return digest(*sorted(color for name, color in self.color.items() if self.house.home(name) == link))
        return f"claim {self.beyond[link]}" if self.beyond[link] else "left out"
