"""Begin a policy of your own, or a paper: files that run as they are, and commands for them.

    python -m experiments.new policy NAME                         # mine/NAME.py and mine/policy/NAME.yaml
    python -m experiments.new policy NAME --batched               # and mine/test_NAME.py
    python -m experiments.new policy NAME --config-dir FOLDER
    python -m experiments.new paper NAME                          # a policy, a bound, a figure, a claim, an erratum

The class is explore then commit, the example of README.md, in the form of a policy that decides at every step. With
--batched it pulls an arm for a whole batch, so that a simulation of 5e7 steps takes less than a second a run, and
`bandits.deploy` can play it with real users; its test compares batches with single steps. Both run as they are, and are
there to be edited. A paper has the policy, and a line for each place that is to be filled in.

A class outside this repository must be frozen and have a `name` that no class of this repository has. It may depend on
its parameters, on the `rng` that it is given, and on files of its folder; that is tried, not read from its code:

- **A second play.** Some replications of each of its cells are simulated again, in another order: the last, the first
  and one between, and more up to 20,000 steps together. The cell is built again from its config, in a new process with
  another working directory, home, hash seed, time zone and clock, and without any environment variable; a value from
  there belongs in the YAML, as `${oc.env:NAME}`. If the numbers are not the same bits, nothing is stored, and one line
  says so. It also says so if the class reads a file whose content is not in its key.
- **Noise of its own.** A policy that promises privacy is played on fixed rewards with nine seeds. If its arms depend on
  rewards and never on the seed, its noise comes from elsewhere, however it is drawn, and it is refused, by audits too.
  A seed that is drawn from the `rng` is fine. A policy without privacy may be as deterministic as it likes.
- **The law of an instance.** A class may not change what a class of this repository defines, such as `sample` of
  `BernoulliInstance`: compiled loops draw from the means, and would play another environment. Of an instance with
  `sample` and `sums` of its own both are drawn and compared, with each other and with its means and its support.
- **Processes.** A class may not start, signal or end a process. If it ends its own, crashes or raises an error, one
  line says so, its cell has failed, and the others are complete.
- **Parameters** are numbers, texts, or lists of these, no mappings, and are not called like a column of the tables of
  `load`, as `t` or `horizon`; a policy may have `epsilon` and `delta`, an instance `arms`.

A single wrong replication is found in every short cell, such as 20 of 1000 steps; in a long cell it is found if it is
the first, the last or the one that the key of the cell picks. Equal replications are not an error by themselves:
explore then commit has the same regret whenever it finds the best arm.

The key of a cell with a class of your own contains a digest of every file in the folders after `--config-dir` and in
those that the key `own_dirs` names, so that an edit of any of them, even of a comment, makes other cells. Not in it are
the YAML files of groups, as `policy/NAME.yaml`, whose values are in the key anyway, hidden files, and folders that
commands write: those that a key `..._dir` names, in which the file `.written_by_commands` says so. These must be
folders of their own, as `mine/results`. For a class of an installed package the files of that package count. Seeds
depend on the parameters, not on files: two versions face the same rewards.

After an edit the next command simulates the cells again, and says so. Stored cells of the old version are kept, with
the column `code`: `experiments.store list` shows it, `load` needs `code=...` if several versions are stored, and
`experiments.store remove` removes one. If a file changes while commands run, they end with a one-line error. Keep notes
and notebooks that change often outside the folder. Classes of this repository have no `code`; their `revision` is
raised by hand.

Figures with a class or a bound of yours are drawn again after any such edit. Verdicts on your claims are stored
nowhere: every command computes them from the code and the results that are there. Those on claims of this repository
are in `results/verdicts.jsonl`, a line for each form of a claim and for each of its settings. The site, the explorer
and `python -m scripts.docs` take a verdict from there if neither its claim nor its results changed.
"""

import argparse
import keyword
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from string import Template

from experiments.config.command_line import Parser, exit_on_user_error
from experiments.config.overrides import quoted
from experiments.errors import UserError
from experiments.own_code.built_in import built_in_policy
from experiments.store.whole_files import put

TEMPLATES = Path(__file__).parent / "templates"
NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
VALUES = ("inf", "nan", "null")  # words that are no names after `policy=`
STEPWISE = {"policy.py.template": "{}.py", "policy.yaml.template": "policy/{}.yaml"}  # where each template goes
BATCHED = {
    "batched.py.template": "{}.py",
    "batched.yaml.template": "policy/{}.yaml",
    "test_batched.py.template": "test_{}.py",
}
PAPER = STEPWISE | {
    "paper/papers.yaml.template": "papers/{}.yaml",
    "paper/fig01.yaml.template": "experiment/{}/fig01.yaml",
    "paper/claims.yaml.template": "claims/{}.yaml",
    "paper/errata.yaml.template": "errata/{}.yaml",
    "paper/bounds.py.template": "{}_bounds.py",
}
MISSING = "FILL IN"  # marks a place in a file of a paper
PLAIN = re.compile(r"[\w./~-]+", re.ASCII)  # values that Hydra's grammar takes without quotes


def require_new(name: str, class_name: str, template: str) -> None:
    """Raise `UserError` unless a module, a policy and a class can have these names."""
    if not NAME.fullmatch(name) or keyword.iskeyword(name) or keyword.iskeyword(class_name) or name in VALUES:
        raise UserError(f"{name}: must be a name in lower_case_with_underscores that Python and YAML can read")
    if re.search(rf"\b{class_name}\b", template):
        raise UserError(
            f"{name}: the class would be called {class_name}, a name that its own file uses; choose another"
        )
    built_in = built_in_policy(name)
    if built_in is not None:
        raise UserError(f"{name}: {built_in.__module__}.{built_in.__qualname__} has that name; choose another")
    spec = find_spec(name)  # imports nothing, as the name has no dots
    if spec is not None:
        where = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
        raise UserError(f"{name}: Python has a module of that name, {where}; choose another")


def write_policy(name: str, folder: Path, places: Mapping[str, str] = STEPWISE) -> list[Path]:
    """Write the files of a policy below `folder`, and return them; `places` says where each template goes.

    Raises `UserError` for a name that is taken or cannot be one; files that exist are never overwritten.
    """
    texts = {place.format(name): (TEMPLATES / template).read_text() for template, place in places.items()}
    files = [folder / place for place in texts]
    for file in files:
        if file.exists():
            raise UserError(f"{file}: exists already; choose another name")
    class_name = "".join(part.capitalize() for part in name.split("_"))
    require_new(name, class_name, "".join(texts.values()))
    words = {"name": name, "class_name": class_name, "label": name.replace("_", " ").capitalize()}
    words["slug"] = name.replace("_", "-")
    for file, text in zip(files, texts.values(), strict=True):
        put(file, Template(text).substitute(words, folder=folder.resolve().name).encode())
    return files


def commands(name: str, folder: Path) -> list[str]:
    """The commands that run, draw, audit, examine and compare a stepwise policy, as lines for the shell."""
    return _commands(name, folder, ["horizon=1e5", "replications=4"], ["policy.rounds=1", "horizon=4"])


def batched_commands(name: str, folder: Path) -> list[str]:
    """The same for a policy in batches, at the horizon of the papers, and its test."""
    lines = _commands(name, folder, ["horizon=5e7", "replications=30"], ["policy.first_batch=1", "horizon=6"])
    return [*lines, shlex.join([sys.orig_argv[0], "-m", "pytest", "-q", str(folder / f"test_{name}.py")])]


def paper_commands(name: str, folder: Path) -> list[str]:
    """The commands that simulate and draw the figure of a paper, judge its claim, and write its page."""
    mine, results = ["--config-dir", str(folder)], _named("results_dir", folder / "results")
    experiment = f"+experiment={name}/fig01"
    commands = [
        ["scripts.figures", *mine, experiment, "complete=true", results, _named("figures_dir", folder / "figures")],
        ["experiments.claims", *mine, f"paper={name}", results],
        ["scripts.site", "pages=papers", *mine, experiment, results, _named("site_dir", folder / "site")],
    ]
    return [shlex.join([sys.orig_argv[0], "-m", *words]) for words in commands]


def missing(files: Iterable[Path]) -> list[str]:
    """A line for each place of the files that is to be filled in: file, line, and what stands there."""
    return [
        f"{file}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if MISSING in line
    ]


def _commands(name: str, folder: Path, small: list[str], audited: list[str]) -> list[str]:
    mine = ["--config-dir", str(folder)]
    results, figures = (_named(f"{kind}_dir", folder / kind) for kind in ("results", "figures"))
    figure = ["+experiment=sajed2019/fig01", "complete=true", *small, f"join={name}", results, figures]
    commands = [
        ["experiments.run", *mine, f"policy={name}", "instance=c2", *small, results],
        ["scripts.figures", *mine, *figure],
        ["experiments.audit", *mine, f"policy={name}", *audited, "runs=2e4"],
        ["scripts.examine", *mine, f"policy={name}", results],
        ["scripts.compare", *mine, f"policy={name}", results, figures],
    ]
    return [shlex.join([sys.orig_argv[0], "-m", *words]) for words in commands]


def _named(key: str, folder: Path) -> str:
    value = folder.as_posix()
    return f"{key}={value if PLAIN.fullmatch(value) else quoted(value)}"


def main() -> None:
    """Entry point of `python -m experiments.new`."""
    parser = Parser(
        prog="python -m experiments.new",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("what", choices=("policy", "paper"), metavar="policy|paper")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--batched", action="store_true")
    parser.add_argument("-cd", "--config-dir", default="mine", type=Path, metavar="FOLDER")
    typed = parser.parse_args()
    if typed.what == "paper":
        if typed.batched:
            raise UserError("--batched: is for a policy")
        places, lines = PAPER, paper_commands
        about = "Simulate and draw its figure, judge its claim, and write its page:"
    elif typed.batched:
        places, lines = BATCHED, batched_commands
        about = "Run it, draw it in a figure of a paper, audit its promise, rank it, compare it, and test it:"
    else:
        places, lines = STEPWISE, commands
        about = "Run it, draw it in a figure of a paper, audit its promise, rank it, and compare it:"
    files = write_policy(typed.name, typed.config_dir, places)
    print("\n".join(map(str, files)))
    print("\n".join(["", about, "", *lines(typed.name, typed.config_dir)]))
    if places_to_fill := missing(files):
        print("\n".join(["", f"To be filled in, marked {MISSING}:", "", *places_to_fill]))


if __name__ == "__main__":
    exit_on_user_error(main)
