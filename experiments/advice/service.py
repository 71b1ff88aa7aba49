"""Write the service that an answer recommends: Python files that run, with a test and a README."""

import dataclasses
import math
import textwrap
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Any, cast

from bandits import ParameterError
from bandits.deploy import Server, Session
from bandits.deploy.spending import NOT_KNOWN, Spent
from bandits.guarantees import Guarantee, Scope
from bandits.policies.base import Policy
from bandits.policies.local_ucb import LDPUCBL
from experiments.advice.answer import Answer, learns
from experiments.advice.naming import Naming
from experiments.advice.question import Question
from experiments.advice.race import COMMITTING, Row
from experiments.errors import UserError
from experiments.store.whole_files import put

TEMPLATES = Path(__file__).parents[1] / "templates" / "service"
TRIED = 1000  # users of the written test
PATIENCE = 1000  # tickets that a batch waits for its rewards
JOURNAL = "rewards.journal"
UNSERVED = {  # why there is no service for a trust
    "distributed": "a session sees every reward, and no sum over devices that hides them is in this repository",
    "shuffle": "a session sees which message came when, and no mixer that hides it is in this repository",
}
SEE = "docs/deploy.md says what can be deployed"
NOTICED = 1e-6  # the delta of a privacy notice, if the question is about a rho
WIDTH = 100  # of the lines of the README


def write_service(answer: Answer, folder: Path) -> list[Path]:
    """Write the service of the first policy in the answer that learns and can be deployed; returns its files.

    That is one of the recommended, else one of the table. For a range of gaps it is the policy whose worst 95 %
    quantile over the range is the least, with what it loses at that gap. Raises `UserError` if there is none, or if a
    file exists.
    """
    if not answer.learns:
        raise UserError("service: nothing learns in this case, so that nothing was written")
    ranked = [*answer.best, *(row for row in answer.rows if row not in answer.best)]
    places = answer.over_range or [(answer.asking, row) for row in ranked]
    learning = ((asking, row) for asking, row in places if learns(asking, [row]))
    promises = ((asking, row, promise(row.contender.policy, asking)) for asking, row in learning)
    asking, row, most = next((one for one in promises if one[-1]), (answer.asking, None, None))
    if row is None or most is None:
        raise UserError(f"service: {UNSERVED.get(asking.trust, 'no policy of the table can be deployed so')}; {SEE}")
    return _write(row.contender.policy, asking, most, _expected(row, asking), folder)


def write_naming_service(naming: Naming, folder: Path) -> list[Path]:
    """Write the service of the policy for so many users that is least often wrong, for more than decide.

    Returns its files. Two more of a session; twice as many of a server, which gives out a ticket anew if its
    message does not come. Raises `UserError` if it cannot be deployed, or if a file exists.
    """
    row, policy = next((row, row.policy) for row in naming.rows if isinstance(row.policy, COMMITTING))
    deciding, local = naming.asking.users, policy.guarantee.scope is Scope.LOCAL
    asking = replace(naming.asking, users=2 * deciding if local else deciding + 2)
    expected = f"{row.label} names a wrong arm in {100 * row.wrong.estimate:.3g} % of simulated runs, at most in"
    expected += f" {100 * row.wrong.high:.3g} %. After {deciding:,} {'messages' if local else 'pulls'} `viable` in"
    expected += " `/state` has one arm,"
    expected += " which is named; later tickets show it. This holds for the means of the question"
    expected += f", at the smallest gap of the range, {asking.gap:.3g}" if asking.ranged else ""
    expected += ": if the best arm is less far ahead, it is wrong more often."
    if (most := promise(policy, asking)) is None:
        raise UserError(f"service: {policy.label} cannot be deployed so; {SEE}")
    return _write(policy, asking, most, expected, folder)


def _write(policy: Policy, asking: Question, most: Spent, expected: str, folder: Path) -> list[Path]:
    local = policy.guarantee.scope is Scope.LOCAL
    placeholders = _code(policy, asking) | _text(policy, asking, most)
    placeholders["expected"] = textwrap.fill(expected, WIDTH)
    files = {}
    for template in sorted(TEMPLATES.iterdir()):
        if local or template.name != "client.py.template":
            text = Template(template.read_text()).substitute(placeholders)
            files[folder / template.name.removesuffix(".template")] = text
    if folder.exists() and not folder.is_dir():
        raise UserError(f"service: {folder} is a file; name a new folder")
    for file in files:
        if file.exists():
            raise UserError(f"service: {file} exists already; name another folder")
    try:
        for file, text in files.items():
            put(file, text.encode())
    except OSError as error:
        raise UserError(f"service: {folder} cannot be written: {error.strerror}") from None
    return list(files)


def promise(policy: Policy, asking: Question) -> Spent | None:
    """What a session or server that plays the policy spends of one user's privacy at most.

    None if none plays it, or none keeps the promise of the question. A session sees rewards, so that none is for a
    question that asks for weaker trust in the server.
    """
    arms, users, many = len(asking.means), asking.users, asking.contributions
    made: Server | Session
    try:
        if policy.guarantee.scope is Scope.LOCAL:
            made = Server(cast(Any, policy), arms, users, ":memory:", contributions=many)
        elif asking.trust == "central":
            made = Session(policy, arms, users, (0.0, 1.0), ":memory:", contributions=many)
        else:
            return None
    except ParameterError:
        return None
    with made:
        most = made.spent()
    wanted = replace(asking, contributions=1, trust="central").promise  # about a user, not about one of many rewards
    return most if kept_by(most, asking).implies(wanted) else None


def kept_by(most: Spent, asking: Question) -> Guarantee:
    """The guarantee about one user of a session that spends at most this."""
    if math.isfinite(most.most):
        return Guarantee(most.most, rho=most.most_rho)
    return Guarantee.concentrated(most.most_rho, asking.epsilon)


def _code(policy: Policy, asking: Question) -> dict[str, Any]:
    """What the placeholders of the Python files stand for."""
    local = policy.guarantee.scope is Scope.LOCAL
    names = [f"arm {arm}" for arm in range(len(asking.means))] if asking.past is None else list(asking.past.names)
    client = "LaplaceClient" if isinstance(policy, LDPUCBL) else "Client"
    epsilon = policy.guarantee.epsilon
    given = [_constructor(policy), "ARMS", str(asking.users), *([] if local else ["(0.0, 1.0)"]), "JOURNAL"]
    given += [f"contributions={asking.contributions}"] + ([] if local else [f"patience={PATIENCE}"])
    return {
        "label": policy.label,
        "learner": "Server" if local else "Session",
        "module": type(policy).__module__,
        "class_name": type(policy).__name__,
        "arms": repr(names),
        "journal": JOURNAL,
        "made": f"{'Server' if local else 'Session'}({', '.join(given)})",
        "value": "message" if local else "reward",
        "sent": "client.message(reward)" if local else "reward",
        "imports": f"\nfrom bandits.deploy import {client}\n\nclient = {client}({epsilon!r})" if local else "",
        "client": client,
        "epsilon": repr(epsilon),
        "means": repr(dict(zip(names, asking.means, strict=True))),
        "tried": min(TRIED, asking.users),
    }


def _constructor(policy: Policy) -> str:
    """The call that makes the policy, without what is left at its default."""
    fields = dataclasses.fields(cast(Any, policy))
    given = [(field.name, getattr(policy, field.name), field.default) for field in fields if field.init]
    return (
        f"{type(policy).__name__}({', '.join(f'{name}={value!r}' for name, value, usual in given if value != usual)})"
    )


def _text(policy: Policy, asking: Question, most: Spent) -> dict[str, Any]:
    """What the placeholders of the README stand for."""
    local = policy.guarantee.scope is Scope.LOCAL
    words = most.words.removesuffix(NOT_KNOWN)  # the README says what a restored copy does
    if asking.rho is not None and math.isfinite(most.most):
        words += f", and {most.most_rho:.4g}-zCDP"
    elif asking.rho is None and math.isinf(most.most):
        words += f", which implies ({asking.epsilon:g}, {asking.delta:g})-differential privacy"
    if local:
        notice = (
            f"Your device makes your answer random before anything is sent. Whatever we receive {_likely(most, asking)}"
        )
        secret = f"`{JOURNAL}` holds messages, nothing secret; `client.py` runs on the devices of users."
        unused = "`tickets` less `reports` in `/state`: users whose devices sent nothing."
    else:
        notice = (
            "Your answer is used in sums alone, to which random noise is added. Whatever others find in what is shown"
        )
        notice += f" or published {_likely(most, asking)} Whether and when you answer is not hidden."
        secret = f"`{JOURNAL}` holds rewards as they came: encrypt the disk, and decide who else reads it."
        unused = "`tickets` less `pulls` in `/state`: users from whom nothing is learned, as a batch waits for rewards."
        unused += " Set `patience` to about as many tickets as are given out while a reward is on its way."
    return {
        "users": f"{asking.users:,}",
        "promise": textwrap.fill(words[0].upper() + words[1:] + ".", WIDTH),
        "notice": textwrap.fill(notice, WIDTH, subsequent_indent="> "),
        "secret": textwrap.fill(secret, WIDTH, subsequent_indent="  "),
        "unused": textwrap.fill(unused, WIDTH, subsequent_indent="  "),
    }


def _likely(most: Spent, asking: Question) -> str:
    """How much more likely what others see may be with one answer of a user than with another, in words."""
    epsilon, delta = most.most, 0.0
    if math.isinf(epsilon) and asking.rho is None:
        epsilon, delta = asking.epsilon, asking.delta
    elif math.isinf(epsilon):  # Bun and Steinke (2016), Proposition 1.3
        epsilon, delta = most.most_rho + 2 * math.sqrt(most.most_rho * -math.log(NOTICED)), NOTICED
    answers = (
        "one answer of yours as with any other" if asking.contributions == 1 else "your answers as with any others"
    )
    apart = f", but for a probability of {delta:g}" if delta else ""
    return f"is at most {math.exp(epsilon):.3g} times as likely with {answers}{apart}."


def _expected(row: Row, asking: Question) -> str:
    """What a policy lost in simulated runs, in words."""
    high, uniform = row.standing.high, asking.uniform
    expected = f"In {row.runs} simulated runs {row.label} lost {row.median:,.0f} of the reward in the median."
    expected += f" 95 % of runs lose at most {high:,.0f}; showing all arms equally often loses {uniform:,.0f}. This"
    expected += " holds for the means and rewards of the question, if they do not change with time."
    if asking.ranged:
        expected += f" Of the range of gaps this is {asking.gap:.3g}, where that policy loses most."
    return expected
