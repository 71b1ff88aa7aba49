"""Objects of Python in the API: references as Sphinx resolves them, in a fraction of its time, and types as written."""

from typing import Any, ClassVar

from sphinx.domains.python import PyProperty, PythonDomain

from scripts.site.docstrings import as_written


class Property(PyProperty):
    """A property with its type as it is written."""

    option_spec: ClassVar[Any] = {**PyProperty.option_spec, "type": as_written}


class IndexedPythonDomain(PythonDomain):
    """Sphinx compares the end of each name in a signature with all objects; here only that of names which some have."""

    directives: ClassVar[Any] = {**PythonDomain.directives, "property": Property}
    _ends: frozenset[str] = frozenset()
    _counted = -1

    def find_obj(self, env: Any, modname: str, classname: str, name: str, *more: Any) -> list[Any]:
        """As Sphinx finds it: every match has the last part of `name` as its own last part."""
        if len(self.objects) != self._counted:
            self._ends = frozenset(full.rpartition(".")[2] for full in self.objects)
            self._counted = len(self.objects)
        if name.removesuffix("()").rpartition(".")[2] not in self._ends:
            return []
        return super().find_obj(env, modname, classname, name, *more)
