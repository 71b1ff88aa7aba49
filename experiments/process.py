"""This process: whether it is a command of ours, and how many threads libraries may start in it."""

import sys

# Work is divided among processes, one per core. Threads of BLAS would wait for each other by spinning, which costs ten
# times the processor when cores are busy, and last digits would depend on how many there are.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def _of_command() -> bool:
    """Whether `python -m` runs a command of ours; no for a program of somebody else that imports this package."""
    if sys.argv[:1] == ["-m"]:  # the package of the command is being imported, which may be that of somebody else
        module = sys.orig_argv[-len(sys.argv)].removeprefix("-m")
    else:
        spec = getattr(sys.modules.get("__main__"), "__spec__", None)
        module = "" if spec is None else spec.name
    return module.partition(".")[0] in ("experiments", "scripts")


COMMAND = _of_command()
