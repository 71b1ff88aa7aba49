"""References of the API to objects of Python, as Sphinx resolves them, in a fraction of its time."""

from typing import Any

from sphinx.domains.python import PythonDomain


class IndexedPythonDomain(PythonDomain):
    """Sphinx compares the end of each name in a signature with all objects; here only that of names which some have."""

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
